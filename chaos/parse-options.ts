import { parseArgs } from 'node:util'

const OPTIONS = {
  conversations: { default: 2000, min: 1, description: 'number of simulated customers' },
  kills: { default: 200, min: 0, description: 'number of processes and databases to kill' },
  seed: { default: 1, min: 0, description: 'seed of the random number generator' },
  workers: { default: 3, min: 1, description: 'number of worker processes' },
  workspaces: { default: 3, min: 1, description: 'number of workspaces, each with its own provider' },
  'timeout-seconds': { default: 180, min: 1, description: 'time limit for processing all remaining work' },
}

type Name = keyof typeof OPTIONS
const NAMES = Object.keys(OPTIONS) as Name[]

export const USAGE = [
  'Usage: npm run chaos -- [options]',
  ...NAMES.map((name) => `  --${name.padEnd(18)} ${OPTIONS[name].description} (default: ${OPTIONS[name].default})`),
  `  --${'help'.padEnd(18)} print this help`,
  'Exit codes: 0 all invariants hold, 1 an invariant is violated, 2 invalid arguments.',
].join('\n')

export type ChaosSize = Record<Exclude<Name, 'timeout-seconds'>, number> & { timeoutMs: number }

/**
 * Parses the command line; returns undefined if help was requested.
 * @throws Error that names the invalid argument
 */
export function parseOptions(args: string[]): ChaosSize | undefined {
  const texts = Object.fromEntries(NAMES.map((name) => [name, { type: 'string' }])) as Record<Name, { type: 'string' }>
  const { values } = parseArgs({ args, options: { ...texts, help: { type: 'boolean', short: 'h' } } })
  if (values.help) return undefined
  const numbers = Object.fromEntries(NAMES.map((name) => [name, parseNumber(name, values[name])]))
  const { 'timeout-seconds': timeoutSeconds, ...size } = numbers as Record<Name, number>
  return { ...size, timeoutMs: timeoutSeconds * 1000 }
}

function parseNumber(name: Name, text: unknown): number {
  const { default: defaultValue, min } = OPTIONS[name]
  if (text === undefined) return defaultValue
  const number = /^\d{1,9}$/.test(String(text)) ? Number(text) : undefined
  if (number === undefined || number < min)
    throw new Error(`--${name} must be an integer of at least ${min}, but is "${String(text)}"`)
  return number
}
