import { parseArgs } from 'node:util'
import { FAULT_KINDS, type FaultKind } from './faults/fault.ts'

const OPTIONS = {
  conversations: { default: 2000, min: 1, description: 'number of simulated customers' },
  broadcast: {
    default: 0,
    min: 0,
    description: 'recipients of a broadcast that is sent meanwhile, in each workspace a part',
  },
  kills: { default: 200, min: 0, description: 'number of processes and databases to kill' },
  faults: { default: 100, min: 0, description: 'number of other faults' },
  'fault-seconds': { default: 60, min: 2, description: 'longest duration of a fault' },
  'lease-seconds': {
    default: 30,
    min: 30,
    description: 'leases of messages and external calls (in production: minutes)',
  },
  seed: { default: 1, min: 0, description: 'seed of the random number generator' },
  workers: { default: 3, min: 1, description: 'number of worker processes' },
  workspaces: {
    default: 3,
    min: 1,
    description: 'number of workspaces with ordinary providers, beside two with special ones',
  },
  'timeout-seconds': { default: 300, min: 1, description: 'time limit for processing all remaining work' },
}

type Name = keyof typeof OPTIONS
const NAMES = Object.keys(OPTIONS) as Name[]
const KINDS = Object.keys(FAULT_KINDS) as FaultKind[]
const COLUMN = 18

export const USAGE = [
  'Usage: npm run chaos -- [options]',
  ...NAMES.map((name) => toLine(`--${name}`, `${OPTIONS[name].description} (default: ${OPTIONS[name].default})`)),
  toLine('--citus-url', 'coordinator of a running cluster of Citus on this machine (default: a temporary server)'),
  toLine('--only', 'kinds of faults to inject, separated by commas (default: all)'),
  toLine('--help', 'print this help'),
  'Kinds of faults:',
  ...KINDS.map((kind) => toLine(kind, FAULT_KINDS[kind])),
  'Exit codes: 0 all invariants hold, 1 an invariant is violated, 2 invalid arguments.',
].join('\n')

export type ChaosSize = {
  conversations: number
  broadcast: number
  kills: number
  faults: number
  kinds: FaultKind[]
  seed: number
  workers: number
  workspaces: number
  longestMs: number
  leaseMs: number
  timeoutMs: number
  citusUrl: string | undefined
}

/**
 * Parses the command line; returns undefined if help was requested.
 * @throws Error that names the invalid argument
 */
export function parseOptions(args: string[]): ChaosSize | undefined {
  const texts = Object.fromEntries(NAMES.map((name) => [name, { type: 'string' }])) as Record<Name, { type: 'string' }>
  const { values } = parseArgs({
    args,
    options: {
      ...texts,
      only: { type: 'string' },
      'citus-url': { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    },
  })
  if (values.help) return undefined
  const numbers = Object.fromEntries(NAMES.map((name) => [name, parseNumber(name, values[name])])) as Record<
    Name,
    number
  >
  const {
    'timeout-seconds': timeoutSeconds,
    'fault-seconds': faultSeconds,
    'lease-seconds': leaseSeconds,
    ...size
  } = numbers
  return {
    ...size,
    citusUrl: values['citus-url'],
    kinds: values.only === undefined ? listKinds(values['citus-url'] !== undefined) : parseKinds(values.only),
    longestMs: faultSeconds * 1000,
    leaseMs: leaseSeconds * 1000,
    timeoutMs: timeoutSeconds * 1000,
  }
}

function parseNumber(name: Name, text: unknown): number {
  const { default: defaultValue, min } = OPTIONS[name]
  if (text === undefined) return defaultValue
  const number = /^\d{1,9}$/.test(String(text)) ? Number(text) : undefined
  if (number === undefined || number < min)
    throw new Error(`--${name} must be an integer of at least ${min}, but is "${String(text)}"`)
  return number
}

/** Lists the kinds of faults that a temporary server has, or a cluster of Citus. */
export function listKinds(isCitus: boolean): FaultKind[] {
  return KINDS.filter((kind) => kind !== (isCitus ? 'disk' : 'node'))
}

function parseKinds(text: string): FaultKind[] {
  return text.split(',').map((name) => {
    const kind = KINDS.find((known) => known === name.trim())
    if (kind === undefined) throw new Error(`--only must list kinds of faults (${KINDS.join(', ')}), but has "${name}"`)
    return kind
  })
}

function toLine(name: string, description: string): string {
  return `  ${name.padEnd(COLUMN)} ${description}`
}
