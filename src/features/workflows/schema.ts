import { z } from 'zod'
import { bulkList, bulkResult } from '../../trpc/bulk.ts'
import { createdBy, id, json, text, timestamp } from '../../trpc/schemas.ts'
import { definitionSchema } from './definition-schema.ts'
import type { WorkflowDefinition } from '../../workflow-definition.ts'

const DEFINITION_BYTES_MAX = 512 * 1024

/** A definition as it is stored, with mistakes or without. */
type StoredDefinition = Record<string, unknown>

/** Gives a schema of stored definitions the type of complete ones where callers see it. */
function typed<Output, Input>(schema: z.ZodType): z.ZodType<Output, Input> {
  return schema as z.ZodType<Output, Input>
}

/** Definition of a draft, which may be incomplete: only its size is checked here, publishing checks the rest. */
const storable = json
  .refine((value) => JSON.stringify(value).length <= DEFINITION_BYTES_MAX, 'must be smaller than 512 KB')
  .meta({
    id: 'WorkflowDefinition',
    override: ({ jsonSchema }: { jsonSchema: object }) => Object.assign(jsonSchema, definitionSchema()),
    description:
      'An ordered list of steps and the triggers that start them. A draft is stored and returned as it was sent, also with mistakes',
    examples: [
      {
        version: 1,
        triggers: [{ type: 'message_received', match: { mode: 'contains', values: ['hello'] } }],
        steps: [{ id: 'greet', type: 'send_message', message: { body: 'Hi {{contact.name}}!' } }],
      },
    ],
  })
export const draft = typed<StoredDefinition, WorkflowDefinition>(storable)
const definition = typed<WorkflowDefinition, StoredDefinition>(storable)

/** Keys are names of files as well, so none leads out of a folder. */
export const WORKFLOW_KEY = /^[a-z0-9][a-z0-9._-]{0,63}$/

const key = z
  .string()
  .regex(WORKFLOW_KEY, 'must have 1 to 64 lower-case letters, digits, dots, underscores and hyphens')
  .meta({ description: 'Name of the workflow for programs, unique in the workspace', examples: ['order-status'] })

const Problem = z
  .object({
    stepId: z.string().nullable(),
    code: z.string(),
    message: z.string(),
    path: z.string(),
  })
  .meta({ id: 'DefinitionProblem' })

export const Problems = z.array(Problem)

const status = z.enum(['draft', 'published', 'paused', 'archived'])

export const Workflow = z
  .object({
    id,
    name: z.string(),
    description: z.string().nullable(),
    key: z
      .string()
      .nullable()
      .meta({ description: 'Name of the workflow for programs; null without one', examples: ['order-status'] }),
    status,
    version: z.int().nullable().meta({ description: 'The published version, which new runs use' }),
    draftRevision: z.int().meta({ description: 'Number of changes of the draft' }),
    hasUnpublishedChanges: z.boolean(),
    publishedProblems: z.array(z.string()).meta({
      description:
        'What prevents the published version from being executed, after damage or a change of release; empty otherwise. Publish the workflow again to repair it',
      examples: [[]],
    }),
    publishedAt: timestamp.nullable(),
    createdBy,
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'Workflow' })
export type Workflow = z.infer<typeof Workflow>

export const WorkflowWithDefinition = Workflow.extend({ definition }).meta({
  id: 'WorkflowWithDefinition',
})
export type WorkflowWithDefinition = z.input<typeof WorkflowWithDefinition>

export const WorkflowVersion = z
  .object({
    workflowId: id,
    version: z.int(),
    hash: z.string(),
    definition,
    note: z.string().nullable(),
    publishedBy: createdBy.meta({
      ...createdBy.meta(),
      description:
        'Who published it: a member (`user`), an API key (`key`) or Parley itself (`system`). The name is null if it is not known any more',
    }),
    publishedAt: timestamp,
  })
  .meta({ id: 'WorkflowVersion' })
export type WorkflowVersion = z.input<typeof WorkflowVersion>

export const Workflows = z.object({ items: z.array(Workflow) })
export const WorkflowVersions = z.object({
  items: z.array(WorkflowVersion.omit({ definition: true }).meta({ id: 'WorkflowVersionSummary' })),
})

export const WorkflowRef = z.strictObject({ workflowId: id })
export type WorkflowRef = z.infer<typeof WorkflowRef>

export const ListWorkflows = z.strictObject({
  key: key.optional().meta({ description: 'Only the workflow with this key' }),
  status: status.optional().meta({ description: 'Only workflows with this status' }),
})
export type ListWorkflows = z.infer<typeof ListWorkflows>

export const WorkflowVersionRef = z.strictObject({
  workflowId: id,
  version: z.int().min(1).meta({ description: 'The number of a published version' }),
})
export type WorkflowVersionRef = z.infer<typeof WorkflowVersionRef>

export const NAME_MAX = 120
const name = text(NAME_MAX)
const description = text(2000, 0)

export const CreateWorkflow = z.strictObject({
  key: key.optional(),
  name,
  description: description.nullish(),
  definition: draft.optional(),
})
export type CreateWorkflow = z.infer<typeof CreateWorkflow>

const draftRevision = z
  .int()
  .optional()
  .meta({ description: 'The revision the change is based on; responds with 409 if the draft has a different one' })

export const UpdateWorkflow = z.strictObject({
  workflowId: id,
  key: key
    .nullish()
    .meta({ description: 'Name of the workflow for programs, unique in the workspace; null removes it' }),
  name: name.optional(),
  description: description.nullish(),
  definition: draft.optional(),
  draftRevision,
})
export type UpdateWorkflow = z.infer<typeof UpdateWorkflow>

export const RestoreVersion = WorkflowVersionRef.extend({ draftRevision })
export type RestoreVersion = z.infer<typeof RestoreVersion>

const side = z
  .string()
  .regex(/^(?:draft|[1-9]\d{0,8})$/, 'must be a version number, or draft')
  .meta({ description: 'A version number, or `draft`', examples: ['1', 'draft'] })

export const DiffWorkflow = z.strictObject({ workflowId: id, from: side, to: side.default('draft') })
export type DiffWorkflow = z.infer<typeof DiffWorkflow>

const FieldChange = z.object({
  field: z.string(),
  from: z.unknown().meta({ description: 'null if the field was absent' }),
  to: z.unknown().meta({ description: 'null if the field is absent' }),
})
export type FieldChange = z.infer<typeof FieldChange>

const NamedStep = z.object({
  id: z.string(),
  type: z.string().nullable(),
  path: z.string().meta({ description: 'Location of the step: `steps.2`, or `steps.2.steps.0` in a loop' }),
})
const someTriggers = z.array(z.record(z.string(), z.unknown()))

const DefinitionDiff = z.object({
  hasChanges: z.boolean().meta({ description: 'True if the two behave differently' }),
  steps: z.object({
    added: z.array(NamedStep),
    removed: z.array(NamedStep),
    changed: z.array(z.object({ id: z.string(), fields: z.array(FieldChange) })),
    reordered: z.boolean().meta({ description: 'True if steps that both have changed their order or loop' }),
  }),
  triggers: z.object({ added: someTriggers, removed: someTriggers }),
  settings: z.array(FieldChange),
  variables: z.array(FieldChange),
})
export type DefinitionDiff = z.infer<typeof DefinitionDiff>

export const WorkflowDiff = DefinitionDiff.extend({ from: z.string(), to: z.string() }).meta({ id: 'WorkflowDiff' })
export type WorkflowDiff = z.infer<typeof WorkflowDiff>

export const StartWorkflow = z.strictObject({
  workflowId: id,
  contactId: id.optional().meta({ description: 'The contact of the run; it uses their most recent conversation' }),
  conversationId: id.optional().meta({ description: 'The conversation to use instead' }),
  input: json.optional().meta({ description: 'Available to the run as {{input}}' }),
  variables: json.optional().meta({ description: 'Values that override the defaults of the definition' }),
  trigger: z
    .enum(['api', 'manual'])
    .default('api')
    .meta({ description: 'The type of trigger that starts the workflow' }),
})
export type StartWorkflow = z.infer<typeof StartWorkflow>

const COPIED_BYTES_MAX = 16 * 1024
const { workflowId, input, variables, trigger } = StartWorkflow.shape

export const BulkStart = z
  .strictObject({
    workflowId,
    contactIds: bulkList(id).meta({
      description: 'The contacts to start a run for, each in its most recent conversation. Repeated IDs count once',
      examples: [['0199a7a0-0000-7000-8000-000000000001']],
    }),
    input,
    variables,
    trigger,
  })
  // Each of the runs stores them.
  .refine((start) => Buffer.byteLength(JSON.stringify([start.input, start.variables])) <= COPIED_BYTES_MAX, {
    path: ['input'],
    message: 'must have at most 16 KB together with `variables`, as each run keeps a copy',
  })
export type BulkStart = z.infer<typeof BulkStart>

const count = z.int()

export const BulkStartResults = z
  .object({
    results: z.array(bulkResult(['started'], 'run').meta({ id: 'BulkStartResult' })),
    counts: z
      .object({ started: count, failed: count })
      .meta({ description: 'The items by their status; a contact that is listed twice has one run, and counts twice' }),
  })
  .meta({ description: 'The outcome for each contact' })
export type BulkStartResults = z.infer<typeof BulkStartResults>
