import { setTimeout as delay } from 'node:timers/promises'
import { SECOND } from '../../src/platform/time.ts'
import type { ApiResponse, TestApp, TestSession } from './app.ts'

const REPETITIONS_MAX = 5
/** Answers to requests of which nothing was done. */
const OVERLOAD = /^(?:Too many requests are in progress|The server is overloaded)/

/** A signed-in member's access to the API of one workspace; usable wherever a session is expected. */
export class WorkspaceClient implements TestSession {
  readonly app: TestApp
  readonly cookie: string
  readonly tenantId: string
  readonly userId: string
  readonly email: string
  readonly password: string

  constructor(app: TestApp, { cookie, tenantId, userId, email, password }: TestSession) {
    this.app = app
    this.cookie = cookie
    this.tenantId = tenantId
    this.userId = userId
    this.email = email
    this.password = password
  }

  /** Sends a request and returns the response, whatever its status. */
  request(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<ApiResponse> {
    return this.app.rest(method, path, { session: this, headers, ...(body === undefined ? {} : { body }) })
  }

  /**
   * Sends a request and returns the body of the response; throws unless the status is 2xx. Repeats it if the server says
   * that it has too much to do for now, as it does on a busy machine, after the time that it names.
   */
  async call(method: string, path: string, body?: unknown): Promise<ApiResponse['body']> {
    let response = await this.request(method, path, body)
    for (let repetition = 1; isOverloaded(response) && repetition <= REPETITIONS_MAX; repetition += 1) {
      await delay(Number(response.headers.get('retry-after')) * SECOND)
      response = await this.request(method, path, body)
    }
    if (response.status >= 200 && response.status < 300) return response.body
    throw new Error(`${method} ${path} returned ${response.status}: ${JSON.stringify(response.body)}`)
  }
}

function isOverloaded({ status, body }: ApiResponse): boolean {
  return status === 503 && OVERLOAD.test(body.error)
}
