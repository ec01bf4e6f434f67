import { createHash } from 'node:crypto'
import { z } from 'zod'
import { target } from '../../engine/language/definition/names.ts'
import { defineStep, type StepContext } from '../../engine/model/step.ts'

const Path = z.strictObject({
  name: z.string().max(120).optional(),
  weight: z.number().gt(0, 'must be more than 0').max(1_000_000),
  next: target,
})

/**
 * Takes one of several paths, as often as their weights say. Sticky, a contact takes the same path of this step every
 * time; otherwise, and without a contact, every execution draws anew. The draw comes from a hash, never from chance.
 */
export const split = defineStep({
  type: 'split',
  schema: z.strictObject({
    paths: z.array(Path).min(2, 'must have at least 2 entries').max(50),
    sticky: z.boolean().default(true),
  }),
  fallthrough: () => 'never',
  targets: ({ paths }) => paths.map(({ next }, index) => ({ to: next, path: `paths.${index}.next` })),
  execute({ paths, sticky }, turn) {
    const total = paths.reduce((sum, { weight }) => sum + weight, 0)
    let left = draw(sticky, turn) * total
    const found = paths.findIndex(({ weight }) => (left -= weight) < 0)
    // Sums of fractions may fall short of their total by a hair.
    const index = found === -1 ? paths.length - 1 : found
    const taken = paths[index]
    const name = taken?.name ?? `path ${index + 1}`
    return { kind: 'next', output: { path: name }, branch: name, ...(taken ? { to: taken.next } : {}) }
  },
})

/** From 0 up to 1. An id that the step makes differs in every execution, and is the same whenever that is decided. */
function draw(sticky: boolean, turn: StepContext): number {
  const { contact, workflow } = turn.facts
  const isBound = sticky && typeof contact?.['id'] === 'string'
  const seed = isBound ? [workflow['id'], turn.step.id, contact['id']].join(':') : turn.newId()
  return createHash('sha256').update(seed).digest().readUIntBE(10, 6) / 2 ** 48
}
