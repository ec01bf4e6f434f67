import { z } from 'zod'
import { Condition } from '../../conditions/index.ts'
import { ident, templateText } from '../../engine/language/definition/names.ts'
import { StepError } from '../../engine/language/step-error.ts'
import { defineStep, type StepOutcome, type StepContext } from '../../engine/model/step.ts'
import { getField } from '../../platform/fields.ts'

const schema = z
  .strictObject({
    over: templateText
      .refine((text) => text.includes('{{'), 'must be a placeholder such as {{vars.list}}')
      .meta({ pattern: '\\{\\{' })
      .optional(),
    as: ident.optional(),
    while: Condition.optional(),
    max: z.int('must be a whole number').min(1, 'must be 1 or more').max(1000, 'must be at most 1000'),
    steps: z.array(z.unknown()).min(1, 'must have at least 1 entry'),
  })
  .refine((loop) => (loop.over === undefined) !== (loop.while === undefined), 'must have either over or while')
  .refine(({ as, over }) => as === undefined || over !== undefined, {
    message: 'names the entries of a list: it needs over',
    path: ['as'],
  })
  .meta({ oneOf: [{ required: ['over'] }, { required: ['while'] }], dependentRequired: { as: ['over'] } })
type Loop = z.output<typeof schema>

/**
 * Executes its steps once for each entry of a list, or while a condition holds; never more than `max` times. The list is
 * read once, when the loop is entered.
 */
export const loop = defineStep({
  type: 'loop',
  schema,
  hasBody: true,
  output: () => ({ index: null, item: null, iterations: null }),
  assigns: (config) => (config.as === undefined ? [] : [config.as]),
  restoreOutput({ as }, output) {
    const item = getField(output, 'item')
    return { saved: output, variables: as !== undefined && item !== undefined ? { [as]: item } : {} }
  },
  execute(config, context) {
    return config.over === undefined ? iterateWhile(config, context) : iterateOver(config.over, config, context)
  },
})

function iterateWhile({ while: condition, max }: Loop, { frame, isMet }: StepContext): StepOutcome {
  const index = frame === null ? 0 : frame.index + 1
  if (index >= max || (condition && !isMet(condition))) return leave(index)
  return { kind: 'iterate', index, items: null, output: { index } }
}

function iterateOver(over: string, { as, max }: Loop, context: StepContext): StepOutcome {
  const items = context.frame?.items ?? readList(over, context).slice(0, max)
  const index = context.frame === null ? 0 : context.frame.index + 1
  if (index >= items.length) return leave(index)
  const item = items[index] ?? null
  const variables = as === undefined ? {} : { [as]: item }
  return { kind: 'iterate', index, items, output: { index, item }, variables }
}

function leave(iterations: number): StepOutcome {
  return { kind: 'next', output: { iterations }, branch: 'done' }
}

function readList(over: string, context: StepContext): unknown[] {
  const list = context.resolve(over)
  if (Array.isArray(list)) return list
  if (list === null) return []
  throw new StepError('not_a_list', 'The value of over is not a list', { retryable: false })
}
