#!/usr/bin/env node
import { parseArgs } from 'node:util'
import { readEnvironment } from '../config.ts'
import { readArguments } from '../platform/process/read-command.ts'
import { ParleyApi } from './api.ts'
import { diffWorkflows, pullWorkflows, pushWorkflows, testWorkflows } from './commands.ts'
import { escapeControls, ProblemError } from './workflow-files.ts'

const COMMANDS = { pull: pullWorkflows, test: testWorkflows, push: pushWorkflows, diff: diffWorkflows }
type Command = keyof typeof COMMANDS

const USAGE = `Usage: parley start
       parley workflows pull|test|push|diff <folder> [options]
Starts Parley, or keeps the workflows of a workspace as files. docs/workflow-files.md describes the files.
  pull                   write the workflows that have a key as files
  test                   run the tests of the files, and store nothing
  push                   store the files as drafts, if none has problems and all tests pass
  diff                   show what push would change; exits with 1 if it is anything
  --publish              push: publish the workflows too
  --url <url>            address of Parley (default: PARLEY_URL, or http://localhost:3000)
  --api-key <key>        API key (default: PARLEY_API_KEY)
  --workspace <id>       ID of the workspace (default: PARLEY_WORKSPACE, or that of the key)
  --help                 print this help
Exits with 0 if all is well, 1 for problems, failed tests and differences, 2 for mistakes in the arguments.`

type Arguments = { start: true } | { start: false; command: Command; folder: string; publish: boolean; api: ParleyApi }

function parse(args: string[]): Arguments | undefined {
  if (args.length === 0 || args.includes('--help') || args.includes('-h')) return undefined
  const environment = readEnvironment()
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      publish: { type: 'boolean', default: false },
      url: { type: 'string', default: environment['PARLEY_URL'] ?? 'http://localhost:3000' },
      'api-key': { type: 'string', default: environment['PARLEY_API_KEY'] ?? '' },
      workspace: { type: 'string', default: environment['PARLEY_WORKSPACE'] ?? '' },
    },
  })
  const [group, command = '', folder, ...others] = positionals
  if (group === 'start' && positionals.length === 1) return { start: true }
  if (group !== 'workflows') throw new Error(`Unknown command "${group ?? ''}"`)
  if (!isCommand(command)) throw new Error(`Unknown command "workflows ${command}"`)
  if (folder === undefined) throw new Error('The argument <folder> is missing')
  if (others[0] !== undefined) throw new Error(`Unexpected argument "${others[0]}"`)
  if (values.publish && command !== 'push') throw new Error('--publish is an option of push')
  if (!URL.canParse(values.url)) throw new Error(`"${values.url}" is no address`)
  if (values['api-key'] === '') throw new Error('Pass an API key as --api-key or PARLEY_API_KEY')
  const { url, 'api-key': apiKey, workspace } = values
  return { start: false, command, folder, publish: values.publish, api: new ParleyApi({ url, apiKey, workspace }) }
}

function isCommand(text: string): text is Command {
  return Object.hasOwn(COMMANDS, text)
}

const parsed = readArguments(USAGE, parse)
if (parsed.start) {
  process.argv.splice(2, 1)
  await import('../main.ts')
} else {
  try {
    process.exitCode = (await COMMANDS[parsed.command](parsed.api, parsed)) ? 0 : 1
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error
    process.stderr.write(`${escapeControls(error.message)}\n`)
    process.exitCode = 1
  }
}
