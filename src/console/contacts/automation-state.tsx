import { useParley } from '@parley/client/react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Button } from '../kit/button.tsx'
import { Problem } from '../kit/states.tsx'
import { Time } from '../kit/time.tsx'
import { type Conversation, describePause } from './contact-words.tsx'

/** Says if workflows answer a conversation, and lets a member change it. */
export function AutomationState({ conversation }: { conversation: Conversation }) {
  const { automation, id: conversationId } = conversation
  const parley = useParley()
  const queryClient = useQueryClient()
  const update = useMutation(
    parley.conversations.update.mutationOptions({
      onSuccess: () => queryClient.invalidateQueries({ queryKey: parley.conversations.list.queryKey() }),
    }),
  )
  const isOn = automation.state === 'on'
  const change = () => update.mutate({ conversationId, automation: { state: isOn ? 'paused' : 'on' } })
  return (
    <div className={isOn ? 'automation' : 'automation paused'}>
      <div className="row">
        {isOn ? (
          <span className="status tone-good">Workflows answer</span>
        ) : (
          <span className="status tone-warn">Workflows are paused</span>
        )}
        {!isOn && <span>{describePause(automation)}</span>}
        {!isOn && automation.until !== null && (
          <span>
            until <Time at={automation.until} />
          </span>
        )}
        <Button small className="spread" disabled={update.isPending} onClick={change}>
          {isOn ? 'Pause workflows' : 'Resume workflows'}
        </Button>
      </div>
      {automation.handoffReason !== null && <p>{automation.handoffReason}</p>}
      <Problem error={update.error} />
    </div>
  )
}
