import { useParley } from '@parley/client/react'
import { useQueries } from '@tanstack/react-query'
import type { Recipient, RecipientStatus } from './broadcast-words.ts'

const PAGE = 100
/** Recipients that are read at most, which is a batch of ten pages. */
export const RECIPIENTS_MAX = 1_000

/**
 * Reads the first recipients, or those of a status. Pages are read by their position, so that all of them are one request,
 * also when events have them read again. A recipient that changes its page meanwhile is in one of them only.
 */
export function useRecipients(
  broadcastId: string,
  { status, count }: { status?: RecipientStatus | undefined; count: number },
) {
  const parley = useParley()
  const pageCount = Math.ceil(Math.min(count, RECIPIENTS_MAX) / PAGE)
  return useQueries({
    queries: Array.from({ length: pageCount }, (_, page) =>
      parley.broadcasts.listRecipients.queryOptions({
        broadcastId,
        limit: PAGE,
        offset: page * PAGE,
        ...(status === undefined ? {} : { status }),
      }),
    ),
    combine: (pages) => {
      const items = new Map(
        pages.flatMap(({ data }) => data?.items ?? []).map((item): [string, Recipient] => [item.id, item]),
      )
      return {
        // The first one that is sent is at the beginning.
        items: [...items.values()].toReversed(),
        isPending: pages.some(({ data, error }) => data === undefined && error === null),
        error: pages.find(({ error }) => error !== null)?.error ?? null,
      }
    },
  })
}
