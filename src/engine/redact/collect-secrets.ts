import type { RunState } from '../model/run.ts'

/** Limit because every recorded text of a run is searched for each secret. */
export const SECRETS_MAX = 500

/** Collects all texts and numbers in the run's sensitive variables, at any depth. */
export function collectSecrets({ sensitive, variables }: Pick<RunState, 'sensitive' | 'variables'>): string[] {
  const secrets = new Set<string>()
  const pending = sensitive.map((name) => variables[name])
  while (pending.length > 0 && secrets.size < SECRETS_MAX) {
    const value = pending.pop()
    if (typeof value === 'string' || typeof value === 'number') secrets.add(String(value))
    else if (typeof value === 'object' && value !== null) for (const field of Object.values(value)) pending.push(field)
  }
  return [...secrets]
}
