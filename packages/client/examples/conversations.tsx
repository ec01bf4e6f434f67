import { createParleyClient, isParleyError } from '@parley/client'
import { ParleyProvider, useParley, useParleyClient, useParleyEvents } from '@parley/client/react'
import { QueryClient, QueryClientProvider, useInfiniteQuery, useMutation, useQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { createRoot } from 'react-dom/client'

/** The address of Parley: that of the page if a development server forwards `/trpc`. */
const SERVER = new URLSearchParams(location.search).get('server') ?? 'http://localhost:3000'

// Events keep the cache current, so nothing is read again because of its age.
const queryClient = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity } } })

function App() {
  const [tenantId, setTenantId] = useState(() => localStorage.getItem('workspace'))
  const [client] = useState(() =>
    createParleyClient({ url: SERVER, tenantId: () => localStorage.getItem('workspace') ?? undefined }),
  )
  const choose = (id: string | null) => {
    if (id === null) localStorage.removeItem('workspace')
    else localStorage.setItem('workspace', id)
    queryClient.clear()
    setTenantId(id)
  }
  return (
    <QueryClientProvider client={queryClient}>
      <ParleyProvider client={client} queryClient={queryClient} tenantId={tenantId}>
        {tenantId === null ? <SignIn onSignIn={choose} /> : <Conversations onSignOut={() => choose(null)} />}
      </ParleyProvider>
    </QueryClientProvider>
  )
}

function SignIn({ onSignIn }: { onSignIn: (tenantId: string) => void }) {
  const parley = useParleyClient()
  const [problem, setProblem] = useState('')
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    const [email, password] = [String(form.get('email')), String(form.get('password'))]
    try {
      const answer = await parley.auth.signIn.mutate({ email, password })
      const workspace = 'workspaces' in answer ? answer.workspaces[0] : undefined
      if (workspace) onSignIn(workspace.id)
      else setProblem('This account has no workspace, or a second factor')
    } catch (error) {
      setProblem(isParleyError(error) ? error.message : String(error))
    }
  }
  return (
    <form onSubmit={submit}>
      <h1>Sign in</h1>
      <label>
        Email <input name="email" type="email" required />
      </label>
      <label>
        Password <input name="password" type="password" required />
      </label>
      <button>Sign in</button>
      <p role="alert">{problem}</p>
    </form>
  )
}

function Conversations({ onSignOut }: { onSignOut: () => void }) {
  const parley = useParley()
  const [conversationId, setConversationId] = useState<string>()
  useParleyEvents({ onError: (error) => error.data?.httpStatus === 401 && onSignOut() })
  const { data, fetchNextPage, hasNextPage } = useInfiniteQuery(
    parley.conversations.list.infiniteQueryOptions({ limit: 20 }, { getNextPageParam: (page) => page.nextCursor }),
  )
  const conversations = data?.pages.flatMap(({ items }) => items) ?? []
  return (
    <main>
      <h1>Conversations</h1>
      <ul>
        {conversations.map(({ id, contact, lastMessage }) => (
          <li key={id}>
            <button onClick={() => setConversationId(id)}>{contact.name}</button> <q>{lastMessage?.body}</q>
          </li>
        ))}
      </ul>
      {hasNextPage && <button onClick={() => void fetchNextPage()}>More</button>}
      {conversationId !== undefined && <Conversation key={conversationId} conversationId={conversationId} />}
    </main>
  )
}

function Conversation({ conversationId }: { conversationId: string }) {
  const parley = useParley()
  const { data } = useQuery(parley.conversations.listMessages.queryOptions({ conversationId }))
  const send = useMutation(parley.conversations.send.mutationOptions())
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = event.currentTarget
    const body = String(new FormData(form).get('body'))
    send.mutate({ conversationId, body }, { onSuccess: () => form.reset() })
  }
  return (
    <section aria-label="Messages">
      <ol>
        {data?.messages.map(({ id, direction, body, status }) => (
          <li key={id}>
            {direction === 'inbound' ? 'Customer' : 'We'}: {body} <small>{status}</small>
          </li>
        ))}
      </ol>
      <form onSubmit={submit}>
        <label>
          Reply <input name="body" required />
        </label>
        <button disabled={send.isPending}>Send</button>
        <p role="alert">{send.error?.message}</p>
      </form>
    </section>
  )
}

const root = document.getElementById('root')
if (root) createRoot(root).render(<App />)
