export {
  createParleyClient,
  defineWorkflow,
  isParleyError,
  type ParleyClient,
  type ParleyClientOptions,
  type ParleyError,
  type ParleyEvent,
  type RouterInputs,
  type RouterOutputs,
} from './client.ts'
export { ParleyTimeoutError } from './limit-time.ts'
export type { AppRouter, Condition, ErrorCode, Step, Trigger, WorkflowDefinition } from './server.ts'
export {
  type ParleyWebhookEvent,
  verifyWebhook,
  WebhookVerificationError,
  type WebhookHeaders,
  type WebhookProblem,
} from './verify-webhook.ts'
