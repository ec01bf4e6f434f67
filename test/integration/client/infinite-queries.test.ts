import { InfiniteQueryObserver, QueryClient } from '@tanstack/react-query'
import { createTRPCClient, httpBatchLink, httpBatchStreamLink, httpLink } from '@trpc/client'
import { createTRPCOptionsProxy } from '@trpc/tanstack-react-query'
import { expect } from 'chai'
import superjson from 'superjson'
import { createParleyClient, type ParleyClient } from '../../../packages/client/src/index.ts'
import type { AppRouter } from '../../../src/router.ts'
import { buildWorkspace } from '../../factories.ts'
import { startTestApp, type TestApp } from '../../support/app.ts'
import type { WorkspaceClient } from '../../support/workspace-client.ts'

describe('infinite queries of @trpc/tanstack-react-query', () => {
  let app: TestApp
  let owner: WorkspaceClient
  const queryClient = new QueryClient({ defaultOptions: { queries: { retry: false } } })

  before(async () => {
    app = await startTestApp()
    owner = await buildWorkspace(app)
    for (const digit of [1, 2, 3, 4, 5]) {
      await owner.request('POST', '/api/contacts', { name: `Contact ${digit}`, phone: `+1415555010${digit}` })
    }
  })
  afterEach(() => queryClient.clear())
  after(() => app.stop())

  const linkOptions = () => {
    const headers = { cookie: owner.cookie, 'x-tenant-id': owner.tenantId }
    return { url: `${app.url}/api/trpc`, transformer: superjson, headers }
  }
  const clients: Record<string, () => ParleyClient> = {
    'the client of the package': () =>
      createParleyClient({ url: app.url, tenantId: owner.tenantId, headers: { cookie: owner.cookie } }),
    httpLink: () => createTRPCClient<AppRouter>({ links: [httpLink(linkOptions())] }),
    httpBatchLink: () => createTRPCClient<AppRouter>({ links: [httpBatchLink(linkOptions())] }),
    httpBatchStreamLink: () => createTRPCClient<AppRouter>({ links: [httpBatchStreamLink(linkOptions())] }),
  }

  for (const [name, createClient] of Object.entries(clients)) {
    it(`read all pages of a list in its order through ${name}`, async () => {
      const trpc = createTRPCOptionsProxy<AppRouter>({ client: createClient(), queryClient })
      const options = trpc.contacts.list.infiniteQueryOptions(
        { limit: 2, sort: 'name' },
        { getNextPageParam: (page) => page.nextCursor },
      )
      const observer = new InfiniteQueryObserver(queryClient, options)
      await observer.refetch({ throwOnError: true })
      while (observer.getCurrentResult().hasNextPage) await observer.fetchNextPage({ throwOnError: true })
      const pages = observer.getCurrentResult().data?.pages.map(({ items }) => items.map((contact) => contact.name))
      expect(pages).to.deep.equal([['Contact 1', 'Contact 2'], ['Contact 3', 'Contact 4'], ['Contact 5']])
    })
  }

  it('are rejected backward, in which no list can be read', async () => {
    const input = encodeURIComponent(JSON.stringify({ json: { direction: 'backward' } }))
    const { status, body } = await owner.request('GET', `/api/trpc/contacts.list?input=${input}`)
    expect(status).to.equal(400)
    expect(body.error.json.message).to.equal('direction is not a field of this request')
  })

  it('leave `direction` an unknown field of REST', async () => {
    const { status, body } = await owner.request('GET', '/api/contacts?direction=forward')
    expect(status).to.equal(400)
    expect(body.error).to.equal('direction is not a field of this request')
  })
})
