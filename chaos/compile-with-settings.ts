import { SECOND } from '../src/platform/time.ts'
import { compile } from './compile.ts'

/**
 * Environment variable with the places for sends of a process, which may change while it runs. If it is empty, they are as
 * many as in production.
 */
export const SEND_PLACES = 'CHAOS_SEND_PLACES'

/** A setting in the sources of the application, with the text that replaces it. */
type Setting = { name: string; pattern: RegExp; toText: (leaseMs: number) => string }

const constant = (name: string, toValue: (leaseMs: number) => number | string): Setting => ({
  name,
  pattern: new RegExp(`^(?<start>(?:export )?const ${name} = ).*$`, 'm'),
  toText: (leaseMs) => `$<start>${toValue(leaseMs)}`,
})

const SETTINGS: Setting[] = [
  constant('CLAIM_MS', (leaseMs) => leaseMs),
  constant('LEASE_MS', (leaseMs) => leaseMs),
  // A call ends before its lease expires.
  constant('EXECUTION_MS_MAX', (leaseMs) => leaseMs - 10 * SECOND),
  // Events of an endpoint whose process was killed, and those that failed, are sent again while the test lasts.
  constant('ENDPOINT_LEASE_MS', () => 10 * SECOND),
  constant('PORTION_MS', () => 2 * SECOND),
  constant('ANSWER_MAX_MS', () => 3 * SECOND),
  constant('DELAYS_MS', () => `Array<number>(9).fill(${5 * SECOND})`),
  constant('UNREACHABLE_PAUSE_MS', () => 2 * SECOND),
  // Statuses that a killed process did not apply are applied as soon as its other work is repeated.
  {
    name: "'attach forgotten statuses'",
    pattern: /(?<start>name: 'attach forgotten statuses', everyMs: )\w+/,
    toText: (leaseMs) => `$<start>${leaseMs}`,
  },
  {
    name: 'deliver.all',
    pattern: /(?<start>deliver: \{ .*)all: (?<places>\d+)/,
    toText: () => `$<start>get all() { return Number(process.env.${SEND_PLACES} || $<places>) }`,
  },
]

/**
 * Compiles a program with leases of another length, so that the work of killed processes is repeated sooner, with short
 * delays between attempts of webhooks, and with places for sends that may change.
 */
export async function compileWithSettings(folder: string, entry: string, leaseMs: number): Promise<string> {
  const missing = new Set(SETTINGS)
  const script = await compile(folder, entry, (source) => {
    const found = SETTINGS.filter(({ pattern }) => pattern.test(source))
    for (const setting of found) missing.delete(setting)
    return found.reduce((text, { pattern, toText }) => text.replace(pattern, toText(leaseMs)), source)
  })
  const names = [...missing].map(({ name }) => name)
  if (names.length > 0) throw new Error(`No source file defines ${names.join(', ')}. Update SETTINGS.`)
  return script
}
