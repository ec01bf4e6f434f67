import { SECOND } from '../src/platform/time.ts'
import { transpileSources } from './transpile-sources.ts'

/** Constants of the application that leases consist of, with their values for a lease of `leaseMs`. */
const LEASE_CONSTANTS: Record<string, (leaseMs: number) => number> = {
  CLAIM_MS: (leaseMs) => leaseMs,
  LEASE_MS: (leaseMs) => leaseMs,
  // A call ends before its lease expires.
  EXECUTION_MS_MAX: (leaseMs) => leaseMs - 10 * SECOND,
}
const LEASE_CONSTANT = new RegExp(`^((?:export )?const (${Object.keys(LEASE_CONSTANTS).join('|')}) = ).*$`, 'gm')

/** Transpiles the sources with leases of another length, so that the work of killed processes is repeated sooner. */
export function transpileWithLeases(folder: string, entry: string, leaseMs: number): string {
  const replaced = new Set<string>()
  const script = transpileSources(folder, entry, (source) =>
    source.replace(LEASE_CONSTANT, (_, start: string, constant: string) => {
      replaced.add(constant)
      return `${start}${LEASE_CONSTANTS[constant]?.(leaseMs)}`
    }),
  )
  const missing = Object.keys(LEASE_CONSTANTS).filter((constant) => !replaced.has(constant))
  if (missing.length > 0) throw new Error(`No source file defines ${missing.join(', ')}. Update LEASE_CONSTANTS.`)
  return script
}
