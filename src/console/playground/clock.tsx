import { useParley } from '@parley/client/react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Button } from '../kit/button.tsx'
import { SOON_MS, useWindowLeft } from '../kit/service-window.ts'
import { Problem } from '../kit/states.tsx'
import { formatDuration } from '../kit/time.tsx'

const HOUR_SECONDS = 3600
const JUMPS = [
  ['+1 h', HOUR_SECONDS],
  ['+25 h', 25 * HOUR_SECONDS],
] as const

/** Lets time pass for one conversation: its window closes, and waits of its runs end. */
export function ClockButtons({ conversationId }: { conversationId: string }) {
  const parley = useParley()
  const queryClient = useQueryClient()
  const { mutate, isPending, error } = useMutation(
    // Times of runs and contacts have changed as well, which have no event.
    parley.sandbox.advanceClock.mutationOptions({ onSuccess: () => queryClient.invalidateQueries() }),
  )
  return (
    <>
      <span className="muted row">Clock of this conversation</span>
      {JUMPS.map(([label, seconds]) => (
        <Button
          key={label}
          small
          disabled={isPending}
          aria-label={`Move the clock ${label}`}
          onClick={() => mutate({ conversationId, seconds })}
        >
          {label}
        </Button>
      ))}
      <Problem error={error} />
    </>
  )
}

/** The time in which free text can be sent to the customer. */
export function Window({ conversation }: { conversation: { windowExpiresAt: Date | null } | undefined }) {
  const leftMs = useWindowLeft(conversation?.windowExpiresAt ?? null)
  if (!conversation) return <span className="muted">No conversation yet</span>
  if (leftMs === 0) return <span className="status tone-bad">Window closed: only templates can be sent</span>
  return (
    <span className={`status ${leftMs < SOON_MS ? 'tone-warn' : 'tone-good'}`}>
      Window open for {formatDuration(leftMs)}
    </span>
  )
}
