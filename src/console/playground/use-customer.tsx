import type { RouterOutputs } from '@parley/client'
import { useParley } from '@parley/client/react'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { Link } from 'wouter'
import { toast } from '../kit/toasts.tsx'
import { listPeople, NEW_CUSTOMER_ID, toNewCustomer } from './contact-picker.tsx'

const RECENT = 50
const UNFINISHED = new Set(['queued', 'running'])

export type Run = RouterOutputs['runs']['get']

export type Customer = ReturnType<typeof useCustomer>

/**
 * The customer who is played, with the newest run of it: the chosen one, or the one who wrote last, or a new one if nobody
 * has written for so long that workflows may not answer any more.
 */
export function useCustomer(chosen: string) {
  const parley = useParley()
  const recent = useQuery(parley.conversations.list.queryOptions({ limit: RECENT }))
  const contacts = useQuery(parley.contacts.list.queryOptions({ limit: RECENT, sort: 'name' }))
  const isReady = recent.data !== undefined && contacts.data !== undefined
  const people = listPeople(recent.data?.items ?? [], contacts.data?.items ?? [])
  const writing = recent.data?.items.find(
    ({ channelType, canSendFreeform }) => channelType === 'sandbox' && canSendFreeform,
  )
  const contactId = chosen === '' ? (writing?.contactId ?? NEW_CUSTOMER_ID) : chosen
  const isKnown = isReady && contactId !== NEW_CUSTOMER_ID
  const runs = useQuery(parley.runs.list.queryOptions({ contactId, limit: 1 }, { enabled: isKnown }))
  const run = isKnown ? runs.data?.items[0] : undefined
  useRunToast(run)
  return {
    /** False until it is known who can be played. */
    isReady,
    error: recent.error ?? contacts.error ?? runs.error,
    people,
    contactId,
    customer: contactId === NEW_CUSTOMER_ID ? toNewCustomer(people) : { contactId },
    conversation: recent.data?.items.find((each) => each.contactId === contactId && each.channelType === 'sandbox'),
    run,
    isAnswering: run !== undefined && UNFINISHED.has(run.status),
  }
}

/** Leads to a run that ends while it is watched. */
function useRunToast(run: Run | undefined): void {
  const watched = useRef<string>(undefined)
  const [id, status] = [run?.id, run?.status]
  useEffect(() => {
    if (id === undefined || status === undefined) return
    if (UNFINISHED.has(status) || status === 'waiting') watched.current = id
    else if (watched.current === id) {
      watched.current = undefined
      toast(
        <>
          That was a run. <Link href={`/runs/${id}`}>Open it</Link>
        </>,
      )
    }
  }, [id, status])
}
