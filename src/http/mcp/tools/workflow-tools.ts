import type { inferProcedureInput } from '@trpc/server'
import { z } from 'zod'
import { getField } from '../../../platform/fields.ts'
import type { AppRouter } from '../../../router.ts'
import { id, json, text } from '../../../trpc/schemas.ts'
import { showData, showUntrusted, ToolError } from '../result.ts'
import { defineTool, omitUndefined, type Tool } from '../tool.ts'
import { confirm, takeTwoSteps } from '../two-steps.ts'
import { pageFields } from './contact-tools.ts'

type Definition = inferProcedureInput<AppRouter['workflows']['validate']>['definition']

/** Checked by the procedures, which store drafts with mistakes as well. */
const definition = json.meta({
  description: 'A definition in the workflow language, see workflow_language',
}) as z.ZodType<unknown> as z.ZodType<Definition>
const version = z.int().min(1).optional().meta({ description: 'A published version instead of the draft' })

const ENTRIES_MAX = 50
const dialogueEntry = z.strictObject({
  body: text(4096).meta({ description: 'What the customer writes' }),
  after: z.string().max(20).optional().meta({ description: 'Delay after the entry before, such as 10m' }),
})

export const workflowTools: Tool[] = [
  defineTool({
    name: 'list_workflows',
    title: 'List workflows',
    description: 'Lists workflows without their definitions.',
    scopes: ['workflows:read'],
    effect: 'read',
    input: z.strictObject({ status: z.enum(['draft', 'published', 'paused', 'archived']).optional() }),
    run: async ({ api }, input) => showData(await api.workflows.list(input)),
  }),
  defineTool({
    name: 'read_workflow',
    title: 'Read a workflow',
    description: 'Returns a workflow with the definition of its draft, or of a published version.',
    scopes: ['workflows:read'],
    effect: 'read',
    input: z.strictObject({ workflowId: id, version }),
    async run({ api }, { workflowId, version: number }) {
      if (number === undefined) return showData(await api.workflows.get({ workflowId }))
      return showData(await api.workflows.getVersion({ workflowId, version: number }))
    },
  }),
  defineTool({
    name: 'workflow_language',
    title: 'Look up the workflow language',
    description:
      'Lists the parts of definitions: triggers, steps and conditions. With `part`, returns the JSON Schema of one, such as step_ask.',
    scopes: ['workflows:read'],
    effect: 'read',
    input: z.strictObject({ part: text(80).optional() }),
    async run({ api }, { part }) {
      const { $defs, ...rest } = await api.workflows.getDefinitionSchema({})
      if (part === undefined) return showData({ parts: Object.keys(Object($defs)), definition: rest })
      const schema = Object.hasOwn(Object($defs), part) ? getField($defs, part) : undefined
      if (schema === undefined) throw new ToolError('There is no such part. Leave `part` out for the list')
      return showData(schema)
    },
  }),
  defineTool({
    name: 'validate_workflow',
    title: 'Validate a workflow',
    description: 'Checks a definition as publishing does, and stores nothing.',
    scopes: ['workflows:read'],
    effect: 'read',
    input: z.strictObject({ definition, workflowId: id.optional() }),
    run: async ({ api }, input) => showData(await api.workflows.validate(input)),
  }),
  defineTool({
    name: 'simulate_workflow',
    title: 'Simulate a workflow',
    description:
      'Runs a draft, a version or a definition with a dialogue, or with the messages of a past conversation. Sends, calls and stores nothing.',
    scopes: ['workflows:read'],
    effect: 'read',
    input: z.strictObject({
      workflowId: id,
      definition: definition.optional(),
      version,
      dialogue: z.array(dialogueEntry).max(ENTRIES_MAX).optional(),
      conversationId: id.optional().meta({ description: 'Instead of a dialogue' }),
      contactId: id.optional().meta({ description: 'The person whose facts the runs read; otherwise a sample' }),
    }),
    async run({ api }, { dialogue, ...input }) {
      const entries = dialogue?.map((entry) => ({ type: 'message' as const, ...entry }))
      return showUntrusted(await api.workflows.simulate({ ...input, dialogue: entries }))
    },
  }),
  defineTool({
    name: 'test_workflow',
    title: 'Test a workflow',
    description: 'Runs the stored tests of a workflow on its draft, or on a version. Sends and stores nothing.',
    scopes: ['workflows:write'],
    effect: 'read',
    input: z.strictObject({ workflowId: id, version }),
    run: async ({ api }, input) => showUntrusted(await api.workflows.runTests(input)),
  }),
  defineTool({
    name: 'save_draft',
    title: 'Save a draft',
    description:
      'Creates a workflow, or changes the draft of one, and returns the problems of the draft. Nothing runs until it is published.',
    scopes: ['workflows:write'],
    effect: 'write',
    input: z.strictObject({
      workflowId: id.optional().meta({ description: 'Leave it out to create a workflow' }),
      name: text(120).optional(),
      description: text(2000).optional(),
      definition: definition.optional(),
      draftRevision: z.int().optional().meta({ description: 'Revision that was read: fails if there is a later one' }),
    }),
    async run({ api }, { workflowId, ...fields }) {
      if (workflowId === undefined && fields.name === undefined) throw new ToolError('A new workflow needs a name')
      const { name = '', draftRevision: _, ...created } = fields
      const saved = await (workflowId === undefined
        ? api.workflows.create({ name, ...created })
        : api.workflows.update({ workflowId, ...fields }))
      const { id: savedId, draftRevision, status, problems, warnings } = saved
      return showData({ workflowId: savedId, name: saved.name, status, draftRevision, problems, warnings })
    },
  }),
  defineTool({
    name: 'publish_workflow',
    title: 'Publish a workflow',
    description:
      'Publishes the draft, so that new runs use it, in two calls: the first changes nothing and returns a preview with a handle, the second has the same arguments and the handle as `confirm`.',
    scopes: ['workflows:write'],
    effect: 'send',
    input: z.strictObject({ workflowId: id, note: text(500).optional(), confirm }),
    run: (call, { confirm: handle, ...input }) =>
      takeTwoSteps(call, call.get('workflows.publish'), { input: omitUndefined(input), handle }),
  }),
  defineTool({
    name: 'inspect_runs',
    title: 'Inspect runs',
    description:
      'With `runId`, returns a run of a workflow and each of its steps, with inputs, outputs and errors. Otherwise lists runs, newest first.',
    scopes: ['runs:read'],
    effect: 'read',
    input: z.strictObject({
      runId: id.optional(),
      workflowId: id.optional(),
      contactId: id.optional(),
      status: text(100).optional().meta({
        description:
          'One or several of queued, running, waiting, completed, failed, canceled, expired, with commas between',
      }),
      ...pageFields,
    }),
    async run({ api }, { runId, ...filter }) {
      if (runId === undefined) return showUntrusted(await api.runs.list(filter))
      const run = await api.runs.get({ runId })
      const { steps: items } = await api.runs.listSteps({ runId })
      return showUntrusted({ run, items })
    },
  }),
]
