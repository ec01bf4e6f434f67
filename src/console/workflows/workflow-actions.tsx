import { useParley } from '@parley/client/react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from '../kit/button.tsx'
import { Dialog } from '../kit/dialog.tsx'
import { Problem } from '../kit/states.tsx'
import { PublishDialog } from './publish-dialog.tsx'
import type { Draft, Workflow } from './use-draft.ts'

type Action = 'publish' | 'unpublish' | 'archive' | 'unarchive'

const TEXTS = {
  unpublish: {
    title: 'Pause',
    text: 'The workflow starts no new runs until it is published again. Current runs continue.',
  },
  archive: {
    title: 'Archive',
    text: 'The workflow starts no new runs and cannot be published. Current runs continue.',
  },
  unarchive: {
    title: 'Unarchive',
    text: 'The workflow can be published again. It starts no runs until then.',
  },
} as const

/** The actions on a workflow in its status. Each action says first what it does. */
export function WorkflowActions({ workflow, draft }: { workflow: Workflow; draft: Draft }) {
  const [opened, setOpened] = useState<Action>()
  const { status, hasUnpublishedChanges } = workflow
  const close = () => setOpened(undefined)
  const isArchived = status === 'archived'
  return (
    <>
      {status === 'published' && (
        <Button small onClick={() => setOpened('unpublish')}>
          Pause
        </Button>
      )}
      <Button small onClick={() => setOpened(isArchived ? 'unarchive' : 'archive')}>
        {isArchived ? 'Unarchive' : 'Archive'}
      </Button>
      {!isArchived && (
        <Button
          small
          kind={hasUnpublishedChanges || status !== 'published' ? 'primary' : undefined}
          onClick={() => setOpened('publish')}
        >
          Publish
        </Button>
      )}
      {opened === 'publish' && <PublishDialog workflow={workflow} draft={draft} onClose={close} />}
      {opened !== undefined && opened !== 'publish' && (
        <StatusDialog workflowId={workflow.id} action={opened} onClose={close} />
      )}
    </>
  )
}

type Props = { workflowId: string; action: keyof typeof TEXTS; onClose: () => void }

function StatusDialog({ workflowId, action, onClose }: Props) {
  const parley = useParley()
  const queryClient = useQueryClient()
  const change = useMutation({
    ...parley.workflows[action].mutationOptions(),
    onSuccess: (workflow) => {
      queryClient.setQueryData(parley.workflows.get.queryKey({ workflowId }), workflow)
      onClose()
    },
  })
  const { title, text } = TEXTS[action]
  return (
    <Dialog title={title} onClose={onClose}>
      <div className="body">
        <p>{text}</p>
        <Problem error={change.error} />
        <div className="footer">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" disabled={change.isPending} onClick={() => change.mutate({ workflowId })}>
            {title}
          </Button>
        </div>
      </div>
    </Dialog>
  )
}
