import { adminProcedure, router } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import * as schema from '../workflows/schema.ts'
import { getWebhook } from './queries.ts'
import { WEBHOOK_PROTOCOL } from './protocol.ts'
import { rotateSecret } from './rotate-secret.ts'

export const workflowWebhooksRouter = router({
  webhook: adminProcedure
    .meta(rest('GET', '/workflows/{workflowId}/webhook', 'Get where the webhook of a workflow is called'))
    .input(schema.WorkflowRef)
    .output(schema.Webhook)
    .query(({ ctx, input }) => getWebhook(ctx.scope, input)),

  rotateWebhookSecret: adminProcedure
    .meta(
      rest(
        'POST',
        '/workflows/{workflowId}/webhook/rotate-secret',
        'Make a new secret for the webhook; the old one ends',
        {
          description: WEBHOOK_PROTOCOL,
        },
      ),
    )
    .input(schema.WorkflowRef)
    .output(schema.WebhookSecret)
    .mutation(({ ctx, input }) => rotateSecret(ctx.scope, input)),
})
