import type { RouterOutputs } from '@parley/client'

export type RunStep = RouterOutputs['runs']['listSteps']['steps'][number]

/** A step of two runs, or of only one of them. `differences` says in words in which way they differ. */
export type AlignedStep = {
  key: string
  left: RunStep | undefined
  right: RunStep | undefined
  differences: string[]
}

/** Fields that name rows, which are never the same in two runs. */
const IDS = new Set(['messageId', 'runId', 'noteId'])

/** Puts the steps of two runs side by side: by step and iteration, and the nth time by the nth time. */
export function alignSteps(left: readonly RunStep[], right: readonly RunStep[]): AlignedStep[] {
  const before = withKeys(left)
  const after = withKeys(right)
  const rows: AlignedStep[] = []
  const added = new Set<string>()
  const add = (key: string) => {
    if (added.has(key)) return
    added.add(key)
    rows.push(toRow(key, before.get(key), after.get(key)))
  }
  const others = [...after.keys()]
  let next = 0
  for (const key of before.keys()) {
    // Steps that only the right run has keep their place before the next step of both.
    while (next < others.length && !before.has(others[next] ?? '')) add(others[next++] ?? '')
    add(key)
    while (next < others.length && added.has(others[next] ?? '')) next += 1
  }
  for (const key of others.slice(next)) add(key)
  return rows
}

function withKeys(steps: readonly RunStep[]): Map<string, RunStep> {
  const counts = new Map<string, number>()
  return new Map(
    steps.map((step) => {
      const place = `${step.stepId}.${step.iteration}`
      const count = counts.get(place) ?? 0
      counts.set(place, count + 1)
      return [`${place}.${count}`, step]
    }),
  )
}

function toRow(key: string, left: RunStep | undefined, right: RunStep | undefined): AlignedStep {
  return { key, left, right, differences: listDifferences(left, right) }
}

function listDifferences(left: RunStep | undefined, right: RunStep | undefined): string[] {
  if (!left) return ['only in the second run']
  if (!right) return ['only in the first run']
  return [
    ...(left.status === right.status ? [] : ['other status']),
    ...(left.branch === right.branch ? [] : ['other branch']),
    ...(toComparable(left.input) === toComparable(right.input) ? [] : ['other input']),
    ...(toComparable(left.output) === toComparable(right.output) ? [] : ['other output']),
    ...(toComparable(left.error) === toComparable(right.error) ? [] : ['other error']),
  ]
}

function toComparable(value: unknown): string {
  return JSON.stringify(value ?? null, (name, field: unknown) => (IDS.has(name) ? null : field))
}
