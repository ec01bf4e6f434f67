import { z } from 'zod'
import { id } from '../../../trpc/schemas.ts'
import { showUntrusted } from '../result.ts'
import { defineTool, omitUndefined, type Tool } from '../tool.ts'
import { confirm, takeTwoSteps } from '../two-steps.ts'

export const broadcastTools: Tool[] = [
  defineTool({
    name: 'preview_broadcast',
    title: 'Preview a broadcast',
    description:
      'Returns a broadcast with the number of people it would reach, why others are skipped, and the messages to the first of them.',
    scopes: ['broadcasts:read'],
    effect: 'read',
    input: z.strictObject({ broadcastId: id, limit: z.int().min(1).max(20).default(5) }),
    async run({ api }, { broadcastId, limit }) {
      const broadcast = await api.broadcasts.get({ broadcastId })
      const estimate = await api.broadcasts.estimate({ broadcastId })
      return showUntrusted({ broadcast, estimate, ...(await api.broadcasts.preview({ broadcastId, limit })) })
    },
  }),
  defineTool({
    name: 'send_broadcast',
    title: 'Send a broadcast',
    description:
      'Sends a draft broadcast to its whole audience, now or at a time, in two calls: the first sends nothing and returns a preview with a handle, the second has the same arguments and the handle as `confirm`.',
    scopes: ['broadcasts:send'],
    effect: 'send',
    input: z.strictObject({ broadcastId: id, at: z.iso.datetime({ offset: true }).optional(), confirm }),
    run: (call, { confirm: handle, ...input }) =>
      takeTwoSteps(call, call.get(input.at === undefined ? 'broadcasts.send' : 'broadcasts.schedule'), {
        input: omitUndefined(input),
        handle,
      }),
  }),
]
