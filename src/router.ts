import { aiProviderRouter } from './features/ai-provider/router.ts'
import { apiKeysRouter } from './features/api-keys/router.ts'
import { auditEventsRouter } from './features/audit-events/router.ts'
import { authRouter } from './features/auth/router.ts'
import { broadcastsRouter } from './features/broadcasts/router.ts'
import { channelsRouter } from './features/channels/router.ts'
import { consentKeywordsRouter, contactConsentRouter } from './features/consent/router.ts'
import { contactImportRouter } from './features/contact-import/router.ts'
import { contactsRouter } from './features/contacts/router.ts'
import { conversationsRouter } from './features/conversations/router.ts'
import { credentialsRouter } from './features/credentials/router.ts'
import { deadLettersRouter } from './features/dead-letters/router.ts'
import { eventsRouter } from './features/events/router.ts'
import { contactExplanationsRouter, messageExplanationsRouter } from './features/explanations/router.ts'
import { groupsRouter } from './features/groups/router.ts'
import { inboundRouter } from './features/inbound/router.ts'
import { jobsRouter } from './features/jobs/router.ts'
import {
  broadcastSubscriptionsRouter,
  conversationSubscriptionsRouter,
  eventSubscriptionsRouter,
  jobSubscriptionsRouter,
  runSubscriptionsRouter,
} from './features/live/router.ts'
import { conversationMessagesRouter, messagesRouter } from './features/messages/router.ts'
import { mediaRouter } from './features/media/router.ts'
import { invitationsRouter, membersRouter } from './features/members/router.ts'
import { organizationsRouter } from './features/organizations/router.ts'
import { publishingRouter } from './features/publishing/router.ts'
import { replayRouter } from './features/replay/router.ts'
import { retentionRouter } from './features/retention/router.ts'
import { runJobsRouter } from './features/run-jobs/router.ts'
import { runsRouter } from './features/runs/router.ts'
import { sandboxRouter } from './features/sandbox/router.ts'
import { simulationsRouter } from './features/simulations/router.ts'
import { tagsRouter } from './features/tags/router.ts'
import { templatesRouter } from './features/templates/router.ts'
import { toolsRouter } from './features/tools/router.ts'
import { workflowTestsRouter, runTestsRouter } from './features/workflow-tests/router.ts'
import { webhookDeliveriesRouter, webhookEndpointsRouter } from './features/webhook-endpoints/router.ts'
import { workflowWebhooksRouter } from './features/workflow-webhooks/router.ts'
import { draftsRouter } from './features/drafts/router.ts'
import { workflowsRouter } from './features/workflows/router.ts'
import { workspaceSettingsRouter, workspacesRouter } from './features/workspaces/router.ts'
import { describeInputs } from './trpc/audit.ts'
import { replaceOutputs } from './trpc/outputs.ts'
import { mergeRouters, router } from './trpc/procedures.ts'
import { createSelect } from './trpc/select-output.ts'

/** The API by namespace. Several features may serve one namespace. Outputs are parsed in tests only. */
export const appRouter = router({
  auth: mergeRouters(authRouter, organizationsRouter),
  contacts: mergeRouters(contactsRouter, contactImportRouter, contactConsentRouter, contactExplanationsRouter),
  conversations: mergeRouters(conversationsRouter, conversationMessagesRouter, conversationSubscriptionsRouter),
  messages: mergeRouters(messagesRouter, messageExplanationsRouter),
  // Publishing comes first: its fixed paths would otherwise be taken for workflow ids.
  workflows: mergeRouters(
    publishingRouter,
    draftsRouter,
    workflowsRouter,
    workflowWebhooksRouter,
    simulationsRouter,
    workflowTestsRouter,
  ),
  runs: mergeRouters(runsRouter, replayRouter, runJobsRouter, runTestsRouter, runSubscriptionsRouter),
  events: mergeRouters(eventsRouter, eventSubscriptionsRouter),
  deadLetters: deadLettersRouter,
  jobs: mergeRouters(jobsRouter, jobSubscriptionsRouter),
  tags: tagsRouter,
  groups: groupsRouter,
  templates: templatesRouter,
  broadcasts: mergeRouters(broadcastsRouter, broadcastSubscriptionsRouter),
  tools: toolsRouter,
  credentials: credentialsRouter,
  apiKeys: apiKeysRouter,
  aiProvider: aiProviderRouter,
  media: mediaRouter,
  channels: mergeRouters(channelsRouter, inboundRouter),
  webhookEndpoints: webhookEndpointsRouter,
  webhookDeliveries: webhookDeliveriesRouter,
  sandbox: sandboxRouter,
  workspace: mergeRouters(workspaceSettingsRouter, consentKeywordsRouter, retentionRouter),
  workspaces: workspacesRouter,
  members: membersRouter,
  invitations: invitationsRouter,
  auditEvents: auditEventsRouter,
})

describeInputs(appRouter)
replaceOutputs(appRouter, createSelect)

export type AppRouter = typeof appRouter
