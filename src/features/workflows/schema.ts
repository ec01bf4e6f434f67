import { z } from 'zod'
import { freeForm, id, instant, text } from '../../trpc/wire.ts'

const DEFINITION_BYTES_MAX = 512 * 1024

/** A draft may be unfinished, so only its size is checked here; publishing checks the rest. */
export const draft = freeForm
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

export const Workflow = z
  .object({
    id,
    name: z.string(),
    description: z.string().nullable(),
    status: z.enum(['draft', 'published', 'paused', 'archived']),
    version: z.int().nullable().meta({ description: 'The published version, which new runs take' }),
    draftRevision: z.int().meta({ description: 'Counts the changes of the draft' }),
    hasUnpublishedChanges: z.boolean(),
    publishedAt: instant.nullable(),
    createdBy: id.nullable(),
    createdAt: instant,
    updatedAt: instant,
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
    publishedAt: instant,
  })
  .meta({ id: 'WorkflowVersion' })
export type WorkflowVersion = z.infer<typeof WorkflowVersion>

export const Workflows = z.object({ items: z.array(Workflow) })
export const WorkflowVersions = z.object({ items: z.array(WorkflowVersion.omit({ definition: true })) })

export const WorkflowRef = z.strictObject({ workflowId: id })
export type WorkflowRef = z.infer<typeof WorkflowRef>

export const WorkflowVersionRef = z.strictObject({ workflowId: id, version: z.int().min(1) })
export type WorkflowVersionRef = z.infer<typeof WorkflowVersionRef>

const name = text(120)
const description = text(2000, 0)

export const CreateWorkflow = z.strictObject({
  name,
  description: description.nullish(),
  definition: draft.optional(),
})
export type CreateWorkflow = z.infer<typeof CreateWorkflow>

export const UpdateWorkflow = z.strictObject({
  workflowId: id,
  name: name.optional(),
  description: description.nullish(),
  definition: draft.optional(),
  draftRevision: z
    .int()
    .optional()
    .meta({ description: 'Refuses the change with 409 if the draft is no longer at this revision' }),
})
export type UpdateWorkflow = z.infer<typeof UpdateWorkflow>

export const PublishWorkflow = z.strictObject({ workflowId: id, note: text(500).optional() })
export type PublishWorkflow = z.infer<typeof PublishWorkflow>

export const StartWorkflow = z.strictObject({
  workflowId: id,
  contactId: id.optional().meta({ description: 'Whom the run is about; it goes on in their newest conversation' }),
  conversationId: id.optional().meta({ description: 'Goes on in this conversation instead' }),
  input: z.record(z.string(), z.unknown()).optional().meta({ description: 'What the run reads as {{input}}' }),
  variables: z.record(z.string(), z.unknown()).optional().meta({ description: 'Over the defaults of the definition' }),
  trigger: z.enum(['api', 'manual']).default('api').meta({ description: 'Which of its triggers starts the workflow' }),
})
export type StartWorkflow = z.infer<typeof StartWorkflow>

const webhookPath = z.string().meta({ description: 'Where to call, under the address of this API' })

export const Hook = z
  .object({
    webhookPath,
    rotatedAt: instant.nullable().meta({ description: 'When its secret was made; null means that it has none yet' }),
    createdAt: instant,
  })
  .meta({ id: 'Hook' })

export const HookSecret = z
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
