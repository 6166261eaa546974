'use strict'
/** Starts `vmcp-admission lsp` for the YAML and JSON files of the workspace; all the rest is in the server. */
const { workspace } = require('vscode')
const { LanguageClient } = require('vscode-languageclient/node')

/** @type {LanguageClient | undefined} */
let client

exports.activate = async () => {
  const [command, ...args] = workspace.getConfiguration('vmcp-admission').get('command')
  client = new LanguageClient(
    'vmcp-admission',
    { command, args, options: { shell: process.platform === 'win32' } },
    { documentSelector: ['yaml', 'json'].map((language) => ({ scheme: 'file', language })) },
  )
  await client.start()
}

exports.deactivate = () => client?.stop()
