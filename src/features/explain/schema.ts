import { z } from 'zod'
import { id, instant } from '../../trpc/wire.ts'

const OUTCOMES = [
  'no_match',
  'condition_not_met',
  'already_running',
  'automation_paused',
  'reply_taken',
  'command_first',
  'too_deep',
] as const

const Happened = z.object({
  type: z.string().meta({ description: 'What happened, as triggers name it', examples: ['message_received'] }),
  messageId: id.nullable(),
  name: z.string().nullable().meta({ description: 'Of an event its name, of a tag the tag' }),
})

const message = z.string().meta({
  description: 'A sentence that says what would have to be different',
  examples: ['The message "hi" contains none of: price, precio'],
})

export const Evaluation = z
  .object({
    at: instant,
    event: Happened,
    version: z.int().meta({ description: 'The version that was published then' }),
    outcome: z.enum(OUTCOMES),
    message,
    detail: z.string().nullable(),
  })
  .meta({ id: 'Evaluation' })
export type Evaluation = z.infer<typeof Evaluation>

export const WhyNot = z
  .object({
    contactId: id,
    workflowId: id,
    since: instant.meta({ description: 'Nothing older is kept' }),
    runsStarted: z.int().meta({ description: 'Runs of the workflow that the contact did start since then' }),
    reasons: z
      .array(
        z.object({
          code: z.enum([
            'not_published',
            'workflow_paused',
            'workflow_archived',
            'no_trigger',
            'automation_paused',
            'nothing_happened',
          ]),
          message,
        }),
      )
      .meta({ description: 'What keeps it from starting now, whatever happens' }),
    evaluations: z.array(Evaluation).meta({ description: 'What happened and did not start it, the newest first' }),
    hasMore: z.boolean().meta({ description: 'There are older ones: ask again with a higher `offset`' }),
  })
  .meta({ id: 'WhyNot' })
export type WhyNot = z.infer<typeof WhyNot>

const LIMIT = 'must be an integer between 1 and 100'
const OFFSET = 'must be an integer between 0 and 100000'

export const AskWhyNot = z.strictObject({
  contactId: id,
  workflowId: id,
  limit: z.int(LIMIT).min(1, LIMIT).max(100, LIMIT).default(50),
  offset: z.int(OFFSET).min(0, OFFSET).max(100_000, OFFSET).default(0),
})
export type AskWhyNot = z.infer<typeof AskWhyNot>
