// cspell:ignore bashcompinit bashdefault compdef compgen compreply cword esac fpath funcstack

/** A command, with the words that a shell can complete for it. */
export interface Completable {
  readonly name: string
  readonly summary: string
  readonly flags: readonly CompletableFlag[]
  /** Words that the command accepts as an argument instead of a file. */
  readonly words: readonly string[]
}

export interface CompletableFlag {
  readonly name: string
  readonly help: string
  /** The possible values of the flag; empty for a flag without a value, and when any text is allowed. */
  readonly values: readonly string[]
  readonly takesValue: boolean
}

export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

/** A shell script that completes the commands and flags of a program, without starting the program. */
export function completionScript(shell: Shell, program: string, commands: readonly Completable[]): string {
  if (shell === 'fish') return fishScript(program, commands)
  const script = bashScript(program, commands)
  if (shell === 'bash') return script
  // For the first completion zsh runs the file in its fpath as a function; this line then completes the words.
  const first = `if [ "$funcstack[1]" = _${program} ]; then eval "$_comps[${program}]"; fi`
  return `#compdef ${program}\nautoload -U +X bashcompinit && bashcompinit\n${script}${first}\n`
}

function bashScript(program: string, commands: readonly Completable[]): string {
  const id = `_${program.replaceAll('-', '_')}`
  const flags = commands.map(
    ({ name, flags }) => `    ${name}) flags='${flags.map((flag) => `--${flag.name}`).join(' ')} --help' ;;`,
  )
  const values = commands.flatMap(({ name, flags }) =>
    flags
      .filter(({ takesValue }) => takesValue)
      .map((flag) => `    '${name} --${flag.name}') words='${flag.values.join(' ')}'; valued=1 ;;`),
  )
  const words = commands
    .filter(({ words }) => words.length > 0)
    .map(({ name, words }) => `    ${name}) words='${words.join(' ')}' ;;`)
  return `# ${program}: completion for bash, and for zsh by bashcompinit
${id}() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} command=\${COMP_WORDS[1]}
  local flags='' words='' valued=''
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '${commands.map(({ name }) => name).join(' ')} help --help --version' -- "$current"))
    return
  fi
  case "$command $previous" in
${values.join('\n')}
  esac
  if [ -n "$valued" ]; then
    [ -z "$words" ] || COMPREPLY=($(compgen -W "$words" -- "$current"))
    return
  fi
  case "$command" in
${flags.join('\n')}
  esac
  case "$command" in
${words.join('\n')}
  esac
  case "$current" in
    -*) COMPREPLY=($(compgen -W "$flags" -- "$current")) ;;
    *) [ -z "$words" ] || COMPREPLY=($(compgen -W "$words" -- "$current")) ;;
  esac
}
complete -o default -o bashdefault -F ${id} ${program}
`
}

function fishScript(program: string, commands: readonly Completable[]): string {
  const quoted = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
  const line = (...parts: readonly string[]) => ['complete', '-c', program, ...parts].join(' ')
  const lines = commands.flatMap(({ name, summary, flags, words }) => {
    const seen = ['-n', quoted(`__fish_seen_subcommand_from ${name}`)]
    return [
      line('-f', '-n', '__fish_use_subcommand', '-a', name, '-d', quoted(summary)),
      ...flags.map(({ name: flag, help, values, takesValue }) =>
        line(
          ...seen,
          '-l',
          flag,
          ...(values.length > 0 ? ['-x', '-a', quoted(values.join(' '))] : takesValue ? ['-r'] : []),
          '-d',
          quoted(help),
        ),
      ),
      ...(words.length === 0 ? [] : [line(...seen, '-f', '-a', quoted(words.join(' ')))]),
    ]
  })
  return [`# ${program}: completion for fish`, ...lines, ''].join('\n')
}
