import { runBroadcasts } from '../../src/features/broadcasts/sending/run-broadcasts.ts'
import type { Job } from '../../src/platform/jobs/job-queue.ts'
import { buildCloudApiChannel } from '../factories.ts'
import type { ApiResponse, TestApp } from './app.ts'
import type { FakeCloudApi } from '../../fake-whatsapp/fake-cloud-api.ts'
import { waitUntil } from './wait-until.ts'
import type { WorkspaceClient } from './workspace-client.ts'

/** Creates a WhatsApp channel on the fake Cloud API, with high limits, and an approved marketing template. */
export async function buildBroadcastChannel(
  workspace: WorkspaceClient,
  cloud: FakeCloudApi,
  { body = 'Hi {{name}}', broadcastsPerSecond = 1000, category = 'marketing' } = {},
): Promise<{ channelId: string; templateId: string }> {
  const channel = await buildCloudApiChannel(workspace, cloud)
  await workspace.call('PATCH', `/api/channels/${channel.id}`, { broadcastsPerSecond })
  const examples = [...body.matchAll(/\{\{(\w+)\}\}/g)].map(([, param_name]) => ({ param_name, example: 'Ana' }))
  const components = [
    { type: 'BODY', text: body, ...(examples.length > 0 ? { example: { body_text_named_params: examples } } : {}) },
  ]
  const fields = { name: 'sale', language: 'en', category, components }
  const template = await workspace.call('POST', '/api/templates', { channelId: channel.id, ...fields })
  cloud.templates.add({ ...fields, category: category.toUpperCase(), parameter_format: 'NAMED', status: 'PENDING' })
  await cloud.templates.approve('sale')
  return { channelId: channel.id, templateId: template.id }
}

/** Phone numbers that differ from those of other tests by their prefix. */
export function listPhones(count: number, prefix = '+4915730'): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${String(index).padStart(6, '0')}`)
}

/** Creates a broadcast to phone numbers, starts it and returns its ID. */
export async function startBroadcast(
  workspace: WorkspaceClient,
  templateId: string,
  phones: string[],
): Promise<string> {
  const audience = { recipients: phones.map((phone) => ({ phone })) }
  const { id } = await workspace.call('POST', '/api/broadcasts', { name: 'Sale', templateId, audience })
  await workspace.call('POST', `/api/broadcasts/${id}/send`, {})
  return id
}

/** Executes the broadcast job of a channel, for an app without a worker, until it enqueues itself no more. */
export async function runBroadcastJobs(app: TestApp, job: Pick<Job, 'tenantId' | 'key'>): Promise<void> {
  do {
    await app.removeWaitingJobs()
    await runBroadcasts(app.system, job)
  } while ((await app.listWaitingJobs()).includes(`broadcast:${job.key}`))
}

/** Waits until a broadcast has a status, advancing the clock so that pacing and retries go on. */
export async function waitForStatus(
  app: TestApp,
  workspace: WorkspaceClient,
  broadcastId: string,
  status: string,
): Promise<ApiResponse['body']> {
  let broadcast: ApiResponse['body']
  await waitUntil(async () => {
    broadcast = await workspace.call('GET', `/api/broadcasts/${broadcastId}`)
    if (broadcast.status === status) return true
    app.clock.advance(250)
    return false
  })
  return broadcast
}
