import { z } from 'zod'
import { Definition } from '../../engine/language/definition/definition.ts'
import type { StepType } from '../../engine/model/step.ts'
import type { TriggerType } from '../../engine/model/trigger.ts'
import { workflowLanguage } from '../../workflow-language.ts'

type JsonSchema = Record<string, unknown>

let document: JsonSchema | undefined

/**
 * The language of definitions as JSON Schema 2020-12, drawn from what validates them. It tells every mistake of form;
 * whether targets are there, expressions can be read and names exist is only told by validating.
 */
export function definitionSchema(): JsonSchema {
  return (document ??= build())
}

function build(): JsonSchema {
  const Trigger = z.union([...workflowLanguage.triggers.values()].map(triggerOf)).meta({ id: 'Trigger' })
  const Step: z.ZodType = z
    .union([...workflowLanguage.steps.values()].map((type) => stepOf(type, () => Step)))
    .meta({ id: 'Step' })
  const whole = z.strictObject({
    ...Definition.shape,
    triggers: z.array(Trigger).max(limitOf(Definition.shape.triggers)).default([]),
    steps: z.array(Step).max(limitOf(Definition.shape.steps)),
  })
  const { $schema, ...schema } = z.toJSONSchema(whole, { io: 'input', override: nameTypes })
  return { $schema, title: 'Workflow definition', ...schema }
}

/** One of several by its `type`, so that a reader of mistakes looks at that one only. */
function nameTypes({
  jsonSchema,
  zodSchema,
}: {
  jsonSchema: z.core.JSONSchema.BaseSchema
  zodSchema: z.core.$ZodTypes
}) {
  const id = z.globalRegistry.get(zodSchema)?.id
  if (id !== 'Trigger' && id !== 'Step') return
  jsonSchema.oneOf = jsonSchema.anyOf ?? []
  delete jsonSchema.anyOf
  jsonSchema['discriminator'] = { propertyName: 'type' }
}

function triggerOf({ type, schema }: TriggerType): z.ZodObject {
  return schema.meta({ ...schema.meta(), id: `trigger_${type}` })
}

/** The fields that every step has, and those of the type; what a loop goes through are steps again. */
function stepOf({ type, schema, hasBody }: StepType, step: () => z.ZodType): z.ZodObject {
  const body = hasBody ? { steps: z.array(z.lazy(step)).min(1) } : {}
  const fields = { ...workflowLanguage.stepBase.shape, ...schema.shape, ...body, type: z.literal(type) }
  return z.strictObject(fields).meta({ ...schema.meta(), id: `step_${type}` })
}

function limitOf(list: z.ZodType): number {
  const limit: unknown = z.toJSONSchema(list, { io: 'input' })['maxItems']
  if (typeof limit !== 'number') throw new TypeError('a list of a definition has no limit')
  return limit
}
