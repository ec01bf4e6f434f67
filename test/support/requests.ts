import type { TestApp, TestSession } from './app.ts'

/** Publishes a workflow; gives its id. */
export async function publish(
  app: TestApp,
  session: TestSession,
  definition: object,
  name = 'Workflow',
): Promise<string> {
  const body = { name, definition: { version: 1, ...definition } }
  const created = await app.rest('POST', '/api/workflows', { session, body })
  const id: string = created.body.id
  const published = await app.rest('POST', `/api/workflows/${id}/publish`, { session, body: {} })
  if (published.status !== 200) throw new Error(`not published: ${JSON.stringify(published.body)}`)
  return id
}

/** A customer writes on the sandbox; gives the conversation's id. */
export async function write(app: TestApp, session: TestSession, phone: string, body: string): Promise<string> {
  const written = await app.rest('POST', '/api/sandbox/messages', { session, body: { phone, body } })
  if (written.status !== 201) throw new Error(`not written: ${JSON.stringify(written.body)}`)
  return written.body.conversationId
}

/** What workflows and people said in a conversation, the oldest first. */
export async function answersIn(app: TestApp, session: TestSession, conversationId: string): Promise<string[]> {
  const { body } = await app.rest('GET', `/api/conversations/${conversationId}/messages`, { session })
  const messages: { direction: string; body: string }[] = body.messages
  return messages.filter(({ direction }) => direction === 'outbound').map((message) => message.body)
}

export async function runsOf(app: TestApp, session: TestSession, query: string): Promise<any[]> {
  return (await app.rest('GET', `/api/runs?limit=100&${query}`, { session })).body.items
}

export async function stepsOf(app: TestApp, session: TestSession, runId: string): Promise<any[]> {
  return (await app.rest('GET', `/api/runs/${runId}/steps`, { session })).body.steps
}
