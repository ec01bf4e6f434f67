import type { RunState } from '../model/run.ts'

/** Each is looked for in all that is written down of a run. */
const SECRETS_MAX = 500

/** What the run's sensitive variables hold, down to the last text and number: either may turn up anywhere. */
export function collectSecrets({ sensitive, variables }: Pick<RunState, 'sensitive' | 'variables'>): string[] {
  const found = new Set<string>()
  const left = sensitive.map((name) => variables[name])
  while (left.length > 0 && found.size < SECRETS_MAX) {
    const value = left.pop()
    if (typeof value === 'string' || typeof value === 'number') found.add(String(value))
    else if (typeof value === 'object' && value !== null) for (const field of Object.values(value)) left.push(field)
  }
  return [...found]
}
