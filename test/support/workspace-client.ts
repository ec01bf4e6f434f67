import type { ApiResponse, TestApp, TestSession } from './app.ts'

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

  /** Sends a request and returns the body of the response; throws unless the status is 2xx. */
  async call(method: string, path: string, body?: unknown): Promise<ApiResponse['body']> {
    const response = await this.request(method, path, body)
    if (response.status >= 200 && response.status < 300) return response.body
    throw new Error(`${method} ${path} returned ${response.status}: ${JSON.stringify(response.body)}`)
  }
}
