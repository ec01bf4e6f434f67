import { adminProcedure, router } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { getProviderWebhook, listProviderWebhooks } from '../provider-webhooks/queries.ts'
import {
  ListProviderWebhooks,
  ProviderWebhook,
  ProviderWebhookRef,
  ProviderWebhooks,
  ProviderWebhookWithBody,
} from '../provider-webhooks/schema.ts'
import { reprocessWebhook } from './retry-webhooks.ts'

const LIST = {
  scope: 'channel-webhooks:read',
  description:
    'Genuine webhook calls of the provider in the last seven days, newest first, each with what was found in it: the number of parts, and fields and types that are not known.',
} as const

const GET = {
  scope: 'channel-webhooks:read',
  description: 'Returns the call with its body as it arrived, which contains personal data.',
} as const

const REPROCESS = {
  scope: 'channel-webhooks:write',
  description:
    'Interprets the body again, for example after an update that knows more of its fields. What is stored already does not change. Responds with the result, also when it fails again.',
} as const

export const inboundRouter = router({
  listWebhooks: adminProcedure
    .meta(rest('GET', '/channels/{channelId}/webhooks', 'List webhook calls of a channel', LIST))
    .input(ListProviderWebhooks)
    .output(ProviderWebhooks)
    .query(({ ctx, input }) => listProviderWebhooks(ctx.scope, input)),

  getWebhook: adminProcedure
    .meta(rest('GET', '/channels/{channelId}/webhooks/{webhookId}', 'Get a webhook call of a channel', GET))
    .input(ProviderWebhookRef)
    .output(ProviderWebhookWithBody)
    .query(({ ctx, input }) => getProviderWebhook(ctx.scope, input)),

  reprocessWebhook: adminProcedure
    .meta(
      rest(
        'POST',
        '/channels/{channelId}/webhooks/{webhookId}/reprocess',
        'Reprocess a webhook call of a channel',
        REPROCESS,
      ),
    )
    .input(ProviderWebhookRef)
    .output(ProviderWebhook)
    .mutation(({ ctx, input }) => reprocessWebhook(ctx.scope, input)),
})
