import { z } from 'zod'
import { Definition } from '../../engine/language/definition/definition.ts'
import type { StepType } from '../../engine/model/step.ts'
import type { TriggerType } from '../../engine/model/trigger.ts'
import { workflowLanguage } from '../../workflow-language.ts'
import { findFieldText } from './definition-texts.ts'

type JsonSchema = Record<string, unknown>

let document: JsonSchema | undefined

/**
 * Returns the definition language as JSON Schema 2020-12, generated from the schemas that validate definitions. It finds
 * every structural error; targets, expressions and references are only checked by validating a definition.
 */
export function definitionSchema(): JsonSchema {
  return (document ??= build())
}

function build(): JsonSchema {
  const Trigger = z.union([...workflowLanguage.triggers.values()].map(toTriggerSchema)).meta({ id: 'Trigger' })
  const Step: z.ZodType = z
    .union([...workflowLanguage.steps.values()].map((type) => toStepSchema(type, () => Step)))
    .meta({ id: 'Step' })
  const schema = z.strictObject({
    ...Definition.shape,
    triggers: z.array(Trigger).max(maxItems(Definition.shape.triggers)).default([]),
    steps: z.array(Step).max(maxItems(Definition.shape.steps)),
  })
  const { $schema, $defs = {}, ...jsonSchema } = z.toJSONSchema(schema, { io: 'input', override: addDiscriminator })
  addTexts(jsonSchema, ['definition'])
  for (const [name, type] of Object.entries($defs)) addTexts(type, toOwner(name))
  return { $schema, title: 'Workflow definition', ...jsonSchema, $defs }
}

/** Splits the name of a step or trigger into its kind and type: `step_send_message`. */
function toOwner(name: string): string[] {
  const [, kind, type] = /^(step|trigger)_(.*)$/.exec(name) ?? []
  return kind === undefined || type === undefined ? [name.toLowerCase()] : [kind, type]
}

/** Adds the descriptions of the fields of an object, and of the objects within it. */
function addTexts(schema: z.core.JSONSchema._JSONSchema, owner: readonly string[]): void {
  if (typeof schema === 'boolean') return
  const { properties = {}, items, additionalProperties, anyOf = [] } = schema
  for (const [name, field] of Object.entries(properties)) {
    const text = findFieldText([...owner, name])
    if (typeof field !== 'boolean' && text !== undefined) field.description = text
    addTexts(field, [...owner, name])
  }
  if (additionalProperties) addTexts(additionalProperties, [...owner, '*'])
  for (const variant of anyOf) addTexts(variant, owner)
  if (items && !Array.isArray(items)) addTexts(items, [...owner.slice(0, -1), `${owner.at(-1)}[]`])
}

/** Marks triggers and steps as unions discriminated by `type`, so that validators report errors of that variant only. */
function addDiscriminator({
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

function toTriggerSchema({ type, schema }: TriggerType): z.ZodObject {
  return schema.meta({ ...schema.meta(), id: `trigger_${type}` })
}

/** Combines the common fields of steps with those of a type; the body of a loop is a list of steps again. */
function toStepSchema({ type, schema, hasBody }: StepType, step: () => z.ZodType): z.ZodObject {
  const body = hasBody ? { steps: z.array(z.lazy(step)).min(1) } : {}
  const fields = { ...workflowLanguage.stepBase.shape, ...schema.shape, ...body, type: z.literal(type) }
  return z.strictObject(fields).meta({ ...schema.meta(), id: `step_${type}` })
}

function maxItems(list: z.ZodType): number {
  const limit: unknown = z.toJSONSchema(list, { io: 'input' })['maxItems']
  if (typeof limit !== 'number') throw new TypeError('a list of the definition schema has no maxItems')
  return limit
}
