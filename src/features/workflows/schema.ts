import { z } from 'zod'
import { json, id, timestamp, text } from '../../trpc/schemas.ts'

const DEFINITION_BYTES_MAX = 512 * 1024

/** A draft may be unfinished, so only its size is checked here; publishing checks the rest. */
export const draft = json
  .refine((value) => JSON.stringify(value).length <= DEFINITION_BYTES_MAX, 'must be smaller than 512 KB')
  .meta({
    description:
      'An ordered list of steps with triggers beside it; GET /api/workflows/definition-schema is its JSON Schema',
    examples: [
      {
        version: 1,
        triggers: [{ type: 'message_received', match: { mode: 'contains', values: ['hello'] } }],
        steps: [{ id: 'greet', type: 'send_message', message: { body: 'Hi {{contact.name}}!' } }],
      },
    ],
  })

const Problem = z.object({
  stepId: z.string().nullable(),
  code: z.string(),
  message: z.string(),
  path: z.string(),
})

const status = z.enum(['draft', 'published', 'paused', 'archived'])

export const Workflow = z
  .object({
    id,
    name: z.string(),
    description: z.string().nullable(),
    status,
    version: z.int().nullable().meta({ description: 'The published version, which new runs take' }),
    draftRevision: z.int().meta({ description: 'Counts the changes of the draft' }),
    hasUnpublishedChanges: z.boolean(),
    publishedAt: timestamp.nullable(),
    createdBy: id.nullable(),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'Workflow' })
export type Workflow = z.infer<typeof Workflow>

export const WorkflowWithDefinition = Workflow.extend({ definition: z.record(z.string(), z.unknown()) }).meta({
  id: 'WorkflowWithDefinition',
})
export type WorkflowWithDefinition = z.infer<typeof WorkflowWithDefinition>

export const PublishedWorkflow = WorkflowWithDefinition.extend({
  warnings: z.array(Problem).meta({ description: 'What does not stop the workflow, but may surprise' }),
}).meta({ id: 'PublishedWorkflow' })
export type PublishedWorkflow = z.infer<typeof PublishedWorkflow>

export const WorkflowVersion = z
  .object({
    workflowId: id,
    version: z.int(),
    hash: z.string(),
    definition: z.record(z.string(), z.unknown()),
    note: z.string().nullable(),
    publishedBy: id.nullable(),
    publishedAt: timestamp,
  })
  .meta({ id: 'WorkflowVersion' })
export type WorkflowVersion = z.infer<typeof WorkflowVersion>

export const Workflows = z.object({ items: z.array(Workflow) })
export const WorkflowVersions = z.object({ items: z.array(WorkflowVersion.omit({ definition: true })) })

export const WorkflowRef = z.strictObject({ workflowId: id })
export type WorkflowRef = z.infer<typeof WorkflowRef>

export const ListWorkflows = z.strictObject({ status: status.optional() })
export type ListWorkflows = z.infer<typeof ListWorkflows>

export const WorkflowVersionRef = z.strictObject({ workflowId: id, version: z.int().min(1) })
export type WorkflowVersionRef = z.infer<typeof WorkflowVersionRef>

export const NAME_MAX = 120
const name = text(NAME_MAX)
const description = text(2000, 0)

export const CreateWorkflow = z.strictObject({
  name,
  description: description.nullish(),
  definition: draft.optional(),
})
export type CreateWorkflow = z.infer<typeof CreateWorkflow>

const draftRevision = z
  .int()
  .optional()
  .meta({ description: 'Refuses the change with 409 if the draft is no longer at this revision' })

export const UpdateWorkflow = z.strictObject({
  workflowId: id,
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
  .regex(/^(?:draft|[1-9]\d{0,8})$/, 'must be the number of a version, or draft')
  .meta({ description: 'The number of a version, or `draft`', examples: ['1', 'draft'] })

export const DiffWorkflow = z.strictObject({ workflowId: id, from: side, to: side.default('draft') })
export type DiffWorkflow = z.infer<typeof DiffWorkflow>

const FieldChange = z.object({
  field: z.string(),
  from: z.unknown().meta({ description: 'null if it was not there' }),
  to: z.unknown().meta({ description: 'null if it is not there' }),
})
export type FieldChange = z.infer<typeof FieldChange>

const NamedStep = z.object({
  id: z.string(),
  type: z.string().nullable(),
  path: z.string().meta({ description: 'Where it stands: `steps.2`, `steps.2.steps.0` in a loop' }),
})
const someTriggers = z.array(z.record(z.string(), z.unknown()))

const DefinitionDiff = z.object({
  hasChanges: z.boolean().meta({ description: 'Whether the two behave differently' }),
  steps: z.object({
    added: z.array(NamedStep),
    removed: z.array(NamedStep),
    changed: z.array(z.object({ id: z.string(), fields: z.array(FieldChange) })),
    reordered: z.boolean().meta({ description: 'Whether the steps that both have stand in another order or loop' }),
  }),
  triggers: z.object({ added: someTriggers, removed: someTriggers }),
  settings: z.array(FieldChange),
  variables: z.array(FieldChange),
})
export type DefinitionDiff = z.infer<typeof DefinitionDiff>

export const WorkflowDiff = DefinitionDiff.extend({ from: z.string(), to: z.string() }).meta({ id: 'WorkflowDiff' })
export type WorkflowDiff = z.infer<typeof WorkflowDiff>

export const PublishWorkflow = z.strictObject({ workflowId: id, note: text(500).optional() })
export type PublishWorkflow = z.infer<typeof PublishWorkflow>

export const StartWorkflow = z.strictObject({
  workflowId: id,
  contactId: id.optional().meta({ description: 'Whom the run is about; it goes on in their newest conversation' }),
  conversationId: id.optional().meta({ description: 'Goes on in this conversation instead' }),
  input: json.optional().meta({ description: 'What the run reads as {{input}}' }),
  variables: json.optional().meta({ description: 'Over the defaults of the definition' }),
  trigger: z.enum(['api', 'manual']).default('api').meta({ description: 'Which of its triggers starts the workflow' }),
})
export type StartWorkflow = z.infer<typeof StartWorkflow>

const webhookPath = z.string().meta({ description: 'Where to call, under the address of this API' })

export const Webhook = z
  .object({
    webhookPath,
    rotatedAt: timestamp.nullable().meta({ description: 'When its secret was made; null means that it has none yet' }),
    createdAt: timestamp,
  })
  .meta({ id: 'Hook' })

export const WebhookSecret = z
  .object({ webhookPath, secret: z.string().meta({ description: 'Shown this once' }) })
  .meta({ id: 'HookSecret' })

export const ValidateWorkflow = z.strictObject({
  definition: draft,
  workflowId: id.optional().meta({ description: 'Whose draft it is: a workflow is no rival of itself' }),
})
export type ValidateWorkflow = z.infer<typeof ValidateWorkflow>

export const DefinitionSchema = z
  .record(z.string(), z.unknown())
  .meta({ id: 'DefinitionSchema', description: 'JSON Schema, draft 2020-12' })

export const Validation = z.object({ valid: z.boolean(), errors: z.array(Problem), warnings: z.array(Problem) })
export type Validation = z.infer<typeof Validation>
