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
 * Chooses one of several paths according to their weights. With `sticky` a contact always gets the same path of this
 * step; otherwise, and without a contact, every execution draws again. The draw is a hash, so that it is repeatable.
 */
export const split = defineStep({
  type: 'split',
  schema: z.strictObject({
    paths: z.array(Path).min(2, 'must have at least 2 entries').max(50),
    sticky: z.boolean().default(true),
  }),
  output: () => ({ path: null }),
  fallthrough: () => 'never',
  targets: ({ paths }) => paths.map(({ next }, index) => ({ to: next, path: `paths.${index}.next` })),
  execute({ paths, sticky }, context) {
    const total = paths.reduce((sum, { weight }) => sum + weight, 0)
    let left = draw(sticky, context) * total
    const drawn = paths.findIndex(({ weight }) => (left -= weight) < 0)
    // Rounding may leave the sum of fractions slightly below their total.
    const index = drawn === -1 ? paths.length - 1 : drawn
    const path = paths[index]
    const name = path?.name ?? `path ${index + 1}`
    return { kind: 'next', output: { path: name }, branch: name, ...(path ? { to: path.next } : {}) }
  },
})

/** Returns a number from 0 up to 1. A new id differs in every execution, and is the same when that is decided again. */
function draw(sticky: boolean, context: StepContext): number {
  const { contact, workflow } = context.facts
  const isBound = sticky && typeof contact?.['id'] === 'string'
  const seed = isBound ? [workflow['id'], context.step.id, contact['id']].join(':') : context.newId()
  return createHash('sha256').update(seed).digest().readUIntBE(10, 6) / 2 ** 48
}
