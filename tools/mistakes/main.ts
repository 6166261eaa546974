import { measureMistakes } from './command.ts'

process.exitCode = await measureMistakes(process.argv.slice(2), process.env)
