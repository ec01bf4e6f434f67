import type { RouterInputs, RouterOutputs } from '@parley/client'
import { useParley, useParleyClient } from '@parley/client/react'
import { useMutation, useQuery } from '@tanstack/react-query'
import { type ReactNode, type RefObject, useEffect, useRef, useState } from 'react'
import { Button } from '../kit/button.tsx'
import { isObject } from '../kit/narrow.ts'
import { Empty, Problem } from '../kit/states.tsx'
import { useSession } from '../session/session.tsx'
import type { Message } from './content.ts'
import { MessageList } from './message-list.tsx'

type Customer = { contactId: string } | { phone: string; name?: string }
type Conversation = RouterOutputs['conversations']['list']['items'][number]

type Props = {
  customer: Customer
  conversation: Conversation | undefined
  /** True while a workflow works on an answer. */
  isAnswering: boolean
  /** Texts to begin with. */
  suggestions: readonly string[]
  inputRef: RefObject<HTMLInputElement | null>
  /** Called with each message that is delivered. */
  onSent: (message: Message) => void
  /** Above the messages. */
  children: ReactNode
}

const MESSAGES = 50

/** The phone of a customer, who writes on the sandbox channel and reads what is answered. */
export function Phone({ customer, conversation, isAnswering, suggestions, inputRef, onSent, children }: Props) {
  const parley = useParley()
  const { data } = useQuery(
    parley.conversations.listMessages.queryOptions(
      { conversationId: conversation?.id ?? '', limit: MESSAGES },
      { enabled: conversation !== undefined },
    ),
  )
  const messages = conversation ? (data?.messages ?? []) : []
  const { send, sending, problem } = useSending(customer, onSent, messages)
  useReadMarks(conversation?.id, messages)
  const choose = (message: Message, optionId: string) =>
    void send({ choice: { messageId: message.id, optionId } }, optionId)
  return (
    <section className="phone" aria-label="Phone of the customer">
      <div className="phone-head">{children}</div>
      <MessageList messages={messages} side="customer" onChoose={choose}>
        {messages.length === 0 && sending.length === 0 && <Empty title="Write as a customer" />}
        {sending.map(({ id, text }) => (
          <p key={id} className="bubble own">
            {text}
          </p>
        ))}
        {(isAnswering || sending.length > 0) && <Typing />}
      </MessageList>
      {problem !== undefined && <Problem error={problem} />}
      <div className="chips">
        {suggestions.map((text) => (
          <Button key={text} small onClick={() => void send({ body: text }, text)}>
            {text}
          </Button>
        ))}
      </div>
      <Composer inputRef={inputRef} send={send} />
    </section>
  )
}

type Content = { body?: string; mediaId?: string } | { choice: { messageId: string; optionId: string } }
/** Resolves to true when the message is delivered. */
type Send = (content: Content, shown: string) => Promise<boolean>

type Post = { content: Content; input: RouterInputs['sandbox']['sendAsCustomer']; idempotencyKey: string }

let nextId = 1

/** Sends messages as the customer. What is sent is shown at once, until the message is in the list. */
function useSending(customer: Customer, onSent: (message: Message) => void, messages: readonly Message[]) {
  const client = useParleyClient()
  const [pending, setPending] = useState<{ id: number; text: string; messageId?: string }[]>([])
  const unanswered = useRef<Post>(undefined)
  const { mutateAsync, error } = useMutation({
    mutationFn: ({ input, idempotencyKey }: Post) =>
      client.sandbox.sendAsCustomer.mutate(input, { context: { idempotencyKey } }),
    // What is sent again after this arrives once, to the same customer.
    onError: (_error, post) => {
      unanswered.current = post
    },
    onSuccess: (_message, post) => {
      if (unanswered.current === post) unanswered.current = undefined
    },
  })
  const send: Send = async (content, text) => {
    const id = nextId++
    setPending((others) => [...others, { id, text }])
    const isAgain = JSON.stringify(unanswered.current?.content) === JSON.stringify(content)
    const post = isAgain ? unanswered.current : undefined
    try {
      const message = await mutateAsync(
        post ?? { content, input: { ...customer, ...content }, idempotencyKey: crypto.randomUUID() },
      )
      setPending((others) => others.map((each) => (each.id === id ? { ...each, messageId: message.id } : each)))
      onSent(message)
      return true
    } catch {
      // The mutation has the error.
      setPending((others) => others.filter((each) => each.id !== id))
      return false
    }
  }
  const known = new Set(messages.map(({ id }) => id))
  return {
    send,
    sending: pending.filter(({ messageId }) => messageId === undefined || !known.has(messageId)),
    problem: error ?? undefined,
  }
}

/** The customer reads what is on the screen while the page is visible. */
function useReadMarks(conversationId: string | undefined, messages: readonly Message[]): void {
  const client = useParleyClient()
  const unread = messages.findLast(
    ({ direction, status }) => direction === 'outbound' && (status === 'sent' || status === 'delivered'),
  )?.id
  useEffect(() => {
    if (conversationId === undefined || unread === undefined || document.hidden) return
    // A mark that is lost is set with the next one.
    client.sandbox.markRead.mutate({ conversationId }).catch(() => undefined)
  }, [client, conversationId, unread])
}

function Typing() {
  return (
    <div className="typing" role="img" aria-label="An answer is on its way">
      <i />
      <i />
      <i />
    </div>
  )
}

function Composer({ inputRef, send }: { inputRef: RefObject<HTMLInputElement | null>; send: Send }) {
  const [text, setText] = useState('')
  const file = useFile(send)
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        const body = text.trim()
        if (body === '') return
        setText('')
        // A text that was not sent is kept, unless another one is written.
        void send({ body }, body).then((isSent) => isSent || setText((current) => current || body))
      }}
    >
      <input hidden ref={file.ref} type="file" aria-label="File" onChange={() => void file.upload()} />
      <Button aria-label="Send a file" onClick={() => file.ref.current?.click()}>
        +
      </Button>
      <input
        ref={inputRef}
        type="text"
        aria-label="Message of the customer"
        placeholder="Write as the customer"
        maxLength={4000}
        autoComplete="off"
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <Button type="submit" kind="primary">
        Send
      </Button>
      <Problem error={file.problem} />
    </form>
  )
}

/** Uploads a chosen file and sends it. */
function useFile(send: Send) {
  const { workspace } = useSession()
  const ref = useRef<HTMLInputElement>(null)
  const [problem, setProblem] = useState<unknown>()
  const upload = async () => {
    const file = ref.current?.files?.[0]
    if (!file) return
    setProblem(undefined)
    try {
      const response = await fetch(`/api/media?filename=${encodeURIComponent(file.name)}`, {
        method: 'POST',
        headers: { 'content-type': file.type || 'application/octet-stream', 'x-tenant-id': workspace?.id ?? '' },
        body: file,
      })
      const body: unknown = await response.json()
      if (!response.ok) throw new Error(readText(body, 'error'))
      await send({ mediaId: readText(body, 'id') }, file.name)
    } catch (error) {
      setProblem(error)
    }
    if (ref.current) ref.current.value = ''
  }
  return { ref, upload, problem }
}

function readText(body: unknown, name: string): string {
  return isObject(body) ? String(body[name]) : 'The answer has no body'
}
