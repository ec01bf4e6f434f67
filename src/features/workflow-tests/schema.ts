import { z } from 'zod'
import { createdBy, id, json, text, timestamp } from '../../trpc/schemas.ts'
import { RunStatus } from '../runs/schema.ts'
import { ContactFacts, Dialogue, StartedBy, StartsAt, StepOutputs } from '../simulations/schema.ts'
import { draft, Problems } from '../workflows/schema.ts'

const ENTRIES_MAX = 1000

/** Limited because publishing a workflow runs all of its tests. */
export const TESTS_MAX = 100

const TranscriptEntry = z.strictObject({
  from: z.enum(['customer', 'workflow', 'system']),
  body: z.string().nullable(),
  buttons: z.array(z.string()).optional().meta({ description: 'The titles of the buttons' }),
})

/** Expected result of a test. Absent fields are not compared. */
export const Expectation = z
  .strictObject({
    status: RunStatus,
    path: z.array(text(64)).max(ENTRIES_MAX).meta({ description: 'The IDs of the steps of the first run, in order' }),
    transcript: z.array(TranscriptEntry).max(ENTRIES_MAX),
    variables: json.meta({ description: 'The variables to compare; others may have any value' }),
  })
  .partial()
  .meta({ id: 'Expectation' })
export type Expectation = z.output<typeof Expectation>

export const WorkflowTest = z
  .object({
    id,
    workflowId: id,
    name: z.string(),
    trigger: z.record(z.string(), z.unknown()).nullable(),
    input: z.unknown(),
    dialogue: z.array(z.unknown()),
    stepOutputs: z.record(z.string(), z.unknown()),
    contact: z.record(z.string(), z.unknown()).nullable(),
    startsAt: timestamp.meta({ description: 'The initial time of the virtual clock' }),
    expectation: Expectation,
    sourceRunId: id.nullable().meta({ description: 'The run that was saved as this test' }),
    createdBy,
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'WorkflowTest' })
export type WorkflowTest = z.infer<typeof WorkflowTest>

export const WorkflowTests = z.object({ items: z.array(WorkflowTest) })

const name = text(120).meta({ description: 'Name of the test, up to 120 characters' })

/** A test without the workflow that it belongs to. */
export const NewWorkflowTest = z.strictObject({
  name,
  dialogue: Dialogue,
  trigger: StartedBy.optional(),
  input: json.optional(),
  contact: ContactFacts.nullable().optional(),
  stepOutputs: StepOutputs.optional(),
  startsAt: StartsAt.optional(),
  expectation: Expectation,
})
export type NewWorkflowTest = z.output<typeof NewWorkflowTest>

export const CreateWorkflowTest = NewWorkflowTest.extend({ workflowId: id })
export type CreateWorkflowTest = z.output<typeof CreateWorkflowTest>

export const WorkflowTestRef = z.strictObject({ workflowId: id, testId: id })
export type WorkflowTestRef = z.infer<typeof WorkflowTestRef>

export const UpdateWorkflowTest = WorkflowTestRef.extend({
  name: name.optional(),
  expectation: Expectation.optional(),
})
export type UpdateWorkflowTest = z.output<typeof UpdateWorkflowTest>

export const RunWorkflowTests = z.strictObject({
  workflowId: id,
  version: z.int().min(1).optional().meta({ description: 'A published version instead of the draft' }),
})
export type RunWorkflowTests = z.infer<typeof RunWorkflowTests>

export const TestOutcome = z
  .object({
    testId: id,
    name: z.string(),
    status: z.enum(['passed', 'failed', 'not_run']),
    differences: z.array(z.string()).meta({
      description: 'Differences to the expectation',
      examples: [['Message 2: expected "Hi" from the workflow, got none']],
    }),
  })
  .meta({ id: 'TestOutcome' })
export type TestOutcome = z.infer<typeof TestOutcome>

export const TestOutcomes = z
  .object({ passed: z.int(), failed: z.int(), items: z.array(TestOutcome) })
  .meta({ description: 'The results of all tests of the workflow' })
export type TestOutcomes = z.infer<typeof TestOutcomes>

export const TestDefinition = z.strictObject({
  definition: draft,
  workflowId: id.optional().meta({ description: 'The workflow that the definition belongs to, if it is stored' }),
  tests: z
    .array(NewWorkflowTest)
    .max(TESTS_MAX)
    .optional()
    .meta({ description: 'The tests to run; by default those of the workflow' }),
})
export type TestDefinition = z.output<typeof TestDefinition>

export const DefinitionOutcomes = TestOutcomes.extend({
  items: z.array(TestOutcome.omit({ testId: true }).meta({ id: 'DefinitionTestOutcome' })),
  problems: Problems.meta({
    description: 'The problems of the definition that prevent publishing. If there are any, no test is run',
    examples: [[]],
  }),
}).meta({ description: 'The results of the tests, in their order, and the problems of the definition' })
export type DefinitionOutcomes = z.infer<typeof DefinitionOutcomes>

export const SaveRunAsTest = z.strictObject({ runId: id, name })
export type SaveRunAsTest = z.infer<typeof SaveRunAsTest>
