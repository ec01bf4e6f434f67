import { z } from 'zod'

export const FollowEvents = z.strictObject({
  types: z
    .array(z.string().max(100))
    .min(1, 'must have at least 1 entry')
    .max(50, 'must have at most 50 entries')
    .optional()
    .meta({ description: 'Only these, such as `run.failed`; all without it' }),
  lastEventId: z.string().max(100).nullish(),
})
export type FollowEvents = z.infer<typeof FollowEvents>
