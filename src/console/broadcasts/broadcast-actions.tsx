import { useParley } from '@parley/client/react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { Button } from '../kit/button.tsx'
import { Dialog } from '../kit/dialog.tsx'
import { Problem } from '../kit/states.tsx'
import type { Broadcast } from './broadcast-words.ts'

type Action = 'send' | 'cancel' | 'retry'

/** The actions of a member on a broadcast in its status. What cannot be undone is confirmed. */
export function BroadcastActions({ broadcast }: { broadcast: Broadcast }) {
  const { status, counts } = broadcast
  const [asked, ask] = useState<Action>()
  const { pause, resume, cancel, retry, send } = useActions(broadcast.id)
  const isBusy = [pause, resume, cancel, retry, send].some(({ isPending }) => isPending)
  const input = { broadcastId: broadcast.id }
  const can = (...statuses: Broadcast['status'][]) => statuses.includes(status)
  const close = () => ask(undefined)
  const confirmed = asked && { send, cancel, retry }[asked]
  return (
    <>
      {can('preparing', 'sending') && (
        <Button disabled={isBusy} onClick={() => pause.mutate(input)}>
          Pause
        </Button>
      )}
      {can('paused') && (
        <Button kind="primary" disabled={isBusy} onClick={() => resume.mutate(input)}>
          Resume
        </Button>
      )}
      {can('draft', 'scheduled') && (
        <Button kind="primary" disabled={isBusy} onClick={() => ask('send')}>
          Send now
        </Button>
      )}
      {can('completed', 'canceled', 'paused') && counts.failed > 0 && (
        <Button disabled={isBusy} onClick={() => ask('retry')}>
          Retry {counts.failed} failed
        </Button>
      )}
      {can('draft', 'scheduled', 'preparing', 'sending', 'paused') && (
        <Button kind="danger" disabled={isBusy} onClick={() => ask('cancel')}>
          Cancel
        </Button>
      )}
      <Problem error={pause.error ?? resume.error} />
      {asked && confirmed && (
        <Confirmation
          {...CONFIRMATIONS[asked](broadcast)}
          isBusy={isBusy}
          error={confirmed.error}
          onClose={close}
          onConfirm={() => confirmed.mutate(input, { onSuccess: close })}
        />
      )}
    </>
  )
}

function useActions(broadcastId: string) {
  const parley = useParley()
  const queryClient = useQueryClient()
  const { pause, resume, cancel, retry, send, get } = parley.broadcasts
  const options = {
    onSuccess: (changed: Broadcast) => queryClient.setQueryData(get.queryKey({ broadcastId }), changed),
  }
  return {
    pause: useMutation(pause.mutationOptions(options)),
    resume: useMutation(resume.mutationOptions(options)),
    cancel: useMutation(cancel.mutationOptions(options)),
    retry: useMutation(retry.mutationOptions(options)),
    send: useMutation(send.mutationOptions(options)),
  }
}

type Words = { title: string; children: ReactNode; action: string; isDanger: boolean }

const CONFIRMATIONS: Readonly<Record<Action, (broadcast: Broadcast) => Words>> = {
  send: ({ name, template }) => ({
    title: 'Send the broadcast?',
    children: `“${name}” is sent to its audience now, with the template ${template.name}. Messages that are sent cannot be taken back.`,
    action: 'Send now',
    isDanger: false,
  }),
  retry: ({ counts }) => ({
    title: 'Retry failed recipients?',
    children: `The message is sent again to ${counts.failed} recipients who failed, except those of whom the provider had accepted it.`,
    action: 'Send again',
    isDanger: false,
  }),
  cancel: ({ name, counts }) => ({
    title: 'Cancel the broadcast?',
    children: `“${name}” ends for good: ${counts.pending + counts.sending} recipients are not sent the message. Up to 128 messages that are on their way are still sent.`,
    action: 'Cancel the broadcast',
    isDanger: true,
  }),
}

type ConfirmationProps = Words & { isBusy: boolean; error: unknown; onClose: () => void; onConfirm: () => void }

function Confirmation({ title, children, action, isDanger, isBusy, error, onClose, onConfirm }: ConfirmationProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <div className="body">
        <p>{children}</p>
        <Problem error={error} />
        <div className="footer">
          <Button onClick={onClose}>Back</Button>
          <Button kind={isDanger ? 'danger' : 'primary'} disabled={isBusy} onClick={onConfirm}>
            {action}
          </Button>
        </div>
      </div>
    </Dialog>
  )
}
