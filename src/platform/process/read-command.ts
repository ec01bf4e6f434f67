import { constants } from 'node:os'
import { parseArgs, type ParseArgsConfig } from 'node:util'

/**
 * Returns what `parse` makes of the arguments of this process. If that is undefined, which means `--help`, the process
 * prints the usage and ends; if it throws, the process ends with 2 after the reason and the usage.
 */
export function readArguments<T>(usage: string, parse: (args: string[]) => T | undefined): T {
  try {
    const parsed = parse(process.argv.slice(2))
    if (parsed !== undefined) return parsed
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}\n`)
    process.exit(2)
  }
  process.stdout.write(`${usage}\n`)
  process.exit(0)
}

/** The options, without `--help`, and the names of the positional arguments, all of which are required. */
type Syntax = { options?: NonNullable<ParseArgsConfig['options']>; names?: string[] }

type Command = { values: Record<string, unknown>; positionals: string[] }

/** Reads the arguments of a command, as `readArguments` does. Call it first: help and mistakes have no effects. */
export function readCommand(usage: string, { options = {}, names = [] }: Syntax = {}): Command {
  return readArguments(usage, (args) => {
    if (args.includes('--help') || args.includes('-h')) return undefined
    const { values, positionals } = parseArgs({ args, options, allowPositionals: true })
    const [unexpected] = positionals.slice(names.length)
    if (unexpected !== undefined) throw new Error(`Unexpected argument "${unexpected}"`)
    const missing = names[positionals.length]
    if (missing !== undefined) throw new Error(`The argument <${missing}> is missing`)
    return { values, positionals }
  })
}

/** A terminal that is closed sends SIGHUP, and Ctrl+\ SIGQUIT. */
export const STOP_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'] as const

/** Lets signals end the process by an exit, in which the embedded database is stopped unless other processes use it. */
export function exitOnSignals(): void {
  for (const signal of STOP_SIGNALS) process.once(signal, () => process.exit(128 + constants.signals[signal]))
}
