import { adminProcedure, router } from '../../trpc/procedures.ts'
import { rest } from '../../trpc/rest.ts'
import { WorkflowRef } from '../workflows/schema.ts'
import { getWebhook } from './queries.ts'
import { rotateSecret } from './changes.ts'
import { Webhook, WebhookSecret } from './schema.ts'

/** The call itself is no operation of the API document, so the operation that creates its secret describes it. */
const CALL_DESCRIPTION = `Send a POST request with a JSON body of at most 1 MB to \`webhookPath\`; workflows read the body as \`{{input}}\`.
Authenticate with the secret as \`Authorization: Bearer <secret>\`, or sign with it: \`X-Parley-Signature: t=<unix seconds>,v1=<hex>\`,
an HMAC-SHA256 over \`<t>.\` and the bytes of the body. The timestamp must be within 5 minutes of the server's clock.
Responses: 202 \`{"runId"}\`; 200 \`{"runId": null, "duplicate": true}\` if an earlier call with the same \`dedupeKey\` started a run;
401 if the secret is wrong; 409 \`workflow_not_published\` or \`already_running\`; 422 if \`contact.phone\` or \`dedupeKey\` has no usable value.
Without a \`dedupeKey\` every call starts a run, a repeated call included.`

export const workflowWebhooksRouter = router({
  getWebhook: adminProcedure
    .meta(
      rest('GET', '/workflows/{workflowId}/webhook', 'Get the webhook of a workflow', {
        description: 'Returns the URL of the webhook. The secret is returned only when it is rotated.',
      }),
    )
    .input(WorkflowRef)
    .output(Webhook)
    .query(({ ctx, input }) => getWebhook(ctx.scope, input)),

  rotateWebhookSecret: adminProcedure
    .meta(
      rest('POST', '/workflows/{workflowId}/webhook/rotate-secret', 'Rotate the secret of a webhook', {
        scope: 'workflow-webhooks:write',
        description: CALL_DESCRIPTION,
      }),
    )
    .input(WorkflowRef)
    .output(WebhookSecret)
    .mutation(({ ctx, input }) => rotateSecret(ctx.scope, input)),
})
