import { parseArgs } from 'node:util'
import { readEnvironment } from '../config.ts'
import { isUuid } from '../platform/ids.ts'
import { ParleyApi } from './api.ts'

export const USAGE = `Usage: parley start
       parley doctor [--json] [--repair counts]
       parley after-restore [--yes]
       parley rotate-key [--json]
       parley export --workspace <id> > <file>
       parley workflows pull|test|push|diff <folder> [options]
Starts Parley, checks an installation, prepares a restored database, encrypts the stored secrets with a new key, exports a
workspace, or keeps the workflows of one as files. docs/workflow-files.md describes the files, docs/operations.md the
other commands.
  start                  start Parley with the settings of the environment and of the file .env
  doctor                 check the database and services of these settings; exits with 1 if there is a problem
  after-restore          mark what was sent after the point of a restore, or may have been, as delivery_unknown
  pull                   write the workflows that have a key as files
  test                   run the tests of the files, and store nothing
  push                   store the files as drafts, if none has problems and all tests pass
  diff                   show what push would change; exits with 1 if it is anything
  rotate-key             encrypt all stored secrets with the first key of SECRET_KEYS; exits with 1 if some are left
  export                 write everything of a workspace; npm run import reads it
  --json                 doctor, rotate-key: print the results as JSON
  --repair counts        doctor: first count the rows of all workspaces again, and fill missing keys of phone numbers
  --yes                  after-restore: mark it, and do not only print how much there is
  --publish              push: publish the workflows too
  --url <url>            address of Parley (default: PARLEY_URL, or http://localhost:3000)
  --api-key <key>        API key (default: PARLEY_API_KEY)
  --workspace <id>       ID of the workspace (default: PARLEY_WORKSPACE, or that of the API key)
  --help                 print this help
Exits with 0 if all is well, 1 for problems, failed tests and differences, 2 for mistakes in the arguments.`

const WORKFLOW_COMMANDS = ['pull', 'test', 'push', 'diff'] as const
export type WorkflowCommand = (typeof WORKFLOW_COMMANDS)[number]

export type Arguments =
  | { group: 'start' }
  | { group: 'doctor'; isJson: boolean; repairsCounts: boolean }
  | { group: 'after-restore'; isConfirmed: boolean }
  | { group: 'rotate-key'; isJson: boolean }
  | { group: 'export'; workspaceId: string }
  | { group: 'workflows'; command: WorkflowCommand; folder: string; publish: boolean; api: ParleyApi }

/** Returns undefined if help is asked for. @throws Error that names the mistake */
export function parseArguments(args: string[]): Arguments | undefined {
  if (args.length === 0 || args.includes('--help') || args.includes('-h')) return undefined
  const [group = '', ...rest] = args
  switch (group) {
    case 'start':
      parseArgs({ args: rest })
      return { group }
    case 'doctor':
      return parseDoctor(rest)
    case 'after-restore': {
      const { values } = parseArgs({ args: rest, options: { yes: { type: 'boolean', default: false } } })
      return { group, isConfirmed: values.yes }
    }
    case 'rotate-key': {
      const { values } = parseArgs({ args: rest, options: { json: { type: 'boolean', default: false } } })
      return { group, isJson: values.json }
    }
    case 'export':
      return parseExport(rest)
    case 'workflows':
      return parseWorkflows(rest)
    default:
      throw new Error(`Unknown command "${group}"`)
  }
}

function parseDoctor(args: string[]): Arguments {
  const { values } = parseArgs({
    args,
    options: { json: { type: 'boolean', default: false }, repair: { type: 'string' } },
  })
  if (values.repair !== undefined && values.repair !== 'counts')
    throw new Error(`"${values.repair}" cannot be repaired. Use --repair counts`)
  return { group: 'doctor', isJson: values.json, repairsCounts: values.repair === 'counts' }
}

function parseExport(args: string[]): Arguments {
  const workspace = { type: 'string', default: readEnvironment()['PARLEY_WORKSPACE'] ?? '' } as const
  const { values } = parseArgs({ args, options: { workspace } })
  if (!isUuid(values.workspace)) throw new Error('Pass the ID of the workspace as --workspace')
  return { group: 'export', workspaceId: values.workspace }
}

function parseWorkflows(args: string[]): Arguments {
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
  const [name = '', folder, ...others] = positionals
  const command = WORKFLOW_COMMANDS.find((each) => each === name)
  if (command === undefined) throw new Error(`Unknown command "workflows ${name}"`)
  if (folder === undefined) throw new Error('The argument <folder> is missing')
  if (others[0] !== undefined) throw new Error(`Unexpected argument "${others[0]}"`)
  if (values.publish && command !== 'push') throw new Error('--publish is an option of push')
  if (!URL.canParse(values.url)) throw new Error(`"${values.url}" is no address`)
  if (values['api-key'] === '') throw new Error('Pass an API key as --api-key or PARLEY_API_KEY')
  const { url, 'api-key': apiKey, workspace } = values
  const api = new ParleyApi({ url, apiKey, workspace })
  return { group: 'workflows', command, folder, publish: values.publish, api }
}
