import { parseArgs } from 'node:util'

/** What may be said about a storm, by its default and its least. */
const NUMBERS = {
  conversations: { value: 2000, least: 1, meaning: 'people who write' },
  kills: { value: 200, least: 0, meaning: 'processes and databases to kill' },
  seed: { value: 1, least: 0, meaning: 'another one is another storm' },
  workers: { value: 3, least: 1, meaning: 'processes that work in the background' },
  workspaces: { value: 3, least: 1, meaning: 'with a number and a provider each' },
  'patience-seconds': { value: 180, least: 1, meaning: 'until everything must be done that was begun' },
}

type Name = keyof typeof NUMBERS
const NAMES = Object.keys(NUMBERS) as Name[]

export const USAGE = [
  'npm run storm -- [options]',
  ...NAMES.map((name) => `  --${name.padEnd(18)} ${NUMBERS[name].meaning} (${NUMBERS[name].value})`),
  'It ends with 0 if everything held, with 1 if not, and with 2 if it was asked for wrongly.',
].join('\n')

export type SizeOfStorm = Record<Exclude<Name, 'patience-seconds'>, number> & { patienceMs: number }

/**
 * Undefined if only help was asked for.
 * @throws Error that says which argument is wrong
 */
export function readOptions(args: string[]): SizeOfStorm | undefined {
  const texts = Object.fromEntries(NAMES.map((name) => [name, { type: 'string' }])) as Record<Name, { type: 'string' }>
  const { values } = parseArgs({ args, options: { ...texts, help: { type: 'boolean', short: 'h' } } })
  if (values.help) return undefined
  const numbers = Object.fromEntries(NAMES.map((name) => [name, readNumber(name, values[name])]))
  const { 'patience-seconds': patience, ...size } = numbers as Record<Name, number>
  return { ...size, patienceMs: patience * 1000 }
}

function readNumber(name: Name, given: unknown): number {
  const { value, least } = NUMBERS[name]
  if (given === undefined) return value
  const number = /^\d{1,9}$/.test(String(given)) ? Number(given) : undefined
  if (number === undefined || number < least)
    throw new Error(`--${name} must be a whole number of at least ${least}, not "${String(given)}"`)
  return number
}
