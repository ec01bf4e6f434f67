import type { RouterOutputs } from '@parley/client'
import { useParley } from '@parley/client/react'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from '../kit/button.tsx'
import { Copy } from '../kit/copy.tsx'
import { Dialog } from '../kit/dialog.tsx'
import { Json } from '../kit/page.tsx'
import { Empty, Loaded, Loading, Problem } from '../kit/states.tsx'
import { TableScroll } from '../kit/table-scroll.tsx'
import { Time } from '../kit/time.tsx'
import { toast } from '../kit/toasts.tsx'
import { useUrlState } from '../kit/url-state.ts'
import { DiffView } from './diff-view.tsx'
import type { Draft, Workflow } from './use-draft.ts'

type Version = RouterOutputs['workflows']['listVersions']['items'][number]

/** The published versions, what differs between any two, and the way back to one. */
export function VersionsTab({ workflow, draft }: { workflow: Workflow; draft: Draft }) {
  const parley = useParley()
  const [shown, setShown] = useUrlState('version')
  const [restored, setRestored] = useState<number>()
  const query = useQuery(parley.workflows.listVersions.queryOptions({ workflowId: workflow.id }))
  return (
    <Loaded query={query} height={240}>
      {({ items }) =>
        items.length === 0 ? (
          <Empty title="Nothing is published yet">Publish the draft to make its first version.</Empty>
        ) : (
          <div className="stack">
            <VersionTable
              items={items}
              live={workflow.status === 'published' ? workflow.version : null}
              onShow={(version) => setShown(String(version))}
              onRestore={setRestored}
            />
            <Compare workflowId={workflow.id} items={items} />
            {/^[1-9]\d{0,8}$/.test(shown) && (
              <VersionDialog workflowId={workflow.id} version={Number(shown)} onClose={() => setShown('')} />
            )}
            {restored !== undefined && (
              <RestoreDialog
                workflow={workflow}
                draft={draft}
                version={restored}
                onClose={() => setRestored(undefined)}
              />
            )}
          </div>
        )
      }
    </Loaded>
  )
}

type TableProps = {
  items: readonly Version[]
  live: number | null
  onShow: (version: number) => void
  onRestore: (version: number) => void
}

function VersionTable({ items, live, onShow, onRestore }: TableProps) {
  return (
    <TableScroll label="Versions" className="card">
      <table className="wide-table">
        <thead>
          <tr>
            <th scope="col">Version</th>
            <th scope="col">Published</th>
            <th scope="col">By</th>
            <th scope="col">Note</th>
            <th scope="col">Hash</th>
            <th scope="col">
              <span className="visually-hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {items.map(({ version, publishedAt, publishedBy, note, hash }) => (
            <tr key={version}>
              <td className="nowrap">
                v{version} {version === live && <span className="status tone-good">Live</span>}
              </td>
              <td className="nowrap">
                <Time at={publishedAt} />
              </td>
              <td>{publishedBy.name ?? <span className="muted">{publishedBy.type}</span>}</td>
              <td>{note ?? <span className="muted">none</span>}</td>
              <td>
                <Copy text={hash} label="hash" />
              </td>
              <td>
                <div className="row end">
                  <Button small aria-label={`View version ${version}`} onClick={() => onShow(version)}>
                    View
                  </Button>
                  <Button small aria-label={`Restore version ${version}`} onClick={() => onRestore(version)}>
                    Restore
                  </Button>
                </div>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableScroll>
  )
}

function Compare({ workflowId, items }: { workflowId: string; items: readonly Version[] }) {
  const parley = useParley()
  const [chosenFrom, setFrom] = useUrlState('from')
  const [chosenTo, setTo] = useUrlState('to')
  const sides = ['draft', ...items.map(({ version }) => String(version))]
  const from = sides.includes(chosenFrom) ? chosenFrom : String(items[0]?.version ?? 'draft')
  const to = sides.includes(chosenTo) ? chosenTo : 'draft'
  const query = useQuery(parley.workflows.diff.queryOptions({ workflowId, from, to }))
  const select = (label: string, value: string, set: (side: string) => void) => (
    <label className="row">
      {label}
      <select value={value} onChange={(event) => set(event.target.value)}>
        {sides.map((side) => (
          <option key={side} value={side}>
            {side === 'draft' ? 'Draft' : `Version ${side}`}
          </option>
        ))}
      </select>
    </label>
  )
  return (
    <section className="card" aria-label="Compare">
      <div className="card-head">
        <h2>Compare</h2>
        {select('From', from, setFrom)}
        {select('to', to, setTo)}
      </div>
      <div className="card-body">
        <Loaded query={query}>{(diff) => <DiffView diff={diff} />}</Loaded>
      </div>
    </section>
  )
}

function VersionDialog({ workflowId, version, onClose }: { workflowId: string; version: number; onClose: () => void }) {
  const parley = useParley()
  const query = useQuery(parley.workflows.getVersion.queryOptions({ workflowId, version }))
  return (
    <Dialog title={`Version ${version}`} onClose={onClose} className="wide-dialog">
      <div className="body">
        {query.data?.note && <p>{query.data.note}</p>}
        {query.isPending ? <Loading /> : <Problem error={query.error} />}
        {query.data && <Json value={query.data.definition} label={`Definition of version ${version}`} />}
      </div>
    </Dialog>
  )
}

type RestoreProps = { workflow: Workflow; draft: Draft; version: number; onClose: () => void }

function RestoreDialog({ workflow, draft, version, onClose }: RestoreProps) {
  const parley = useParley()
  const queryClient = useQueryClient()
  const { id: workflowId, draftRevision } = workflow
  const restore = useMutation(
    parley.workflows.restoreVersion.mutationOptions({
      onSuccess: (restored) => {
        queryClient.setQueryData(parley.workflows.get.queryKey({ workflowId }), restored)
        void queryClient.invalidateQueries({ queryKey: parley.workflows.diff.queryKey() })
        toast(`Version ${version} is the draft`)
        onClose()
      },
    }),
  )
  return (
    <Dialog title={`Restore version ${version}`} onClose={onClose}>
      <div className="body">
        <p>The draft is replaced by the definition of version {version}. Nothing is published.</p>
        {draft.isDirty && <p className="note">Your unsaved text stays until you choose between the two.</p>}
        <Problem error={restore.error} />
        <div className="footer">
          <Button onClick={onClose}>Cancel</Button>
          <Button
            kind="primary"
            disabled={restore.isPending}
            onClick={() => restore.mutate({ workflowId, version, draftRevision })}
          >
            Restore as draft
          </Button>
        </div>
      </div>
    </Dialog>
  )
}
