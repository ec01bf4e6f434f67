import '../styles/workflows.css'
import { useParley } from '@parley/client/react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { Copy } from '../kit/copy.tsx'
import { Page } from '../kit/page.tsx'
import { Loading, Problem } from '../kit/states.tsx'
import { Status } from '../kit/status.tsx'
import { Tabs, useTab } from '../kit/tabs.tsx'
import { DefinitionTab } from './definition-tab.tsx'
import { type Dialogue, newDialogue } from './dialogue.ts'
import { SimulateTab } from './simulate-tab.tsx'
import { type Outcomes, TestsTab } from './tests-tab.tsx'
import { type Draft, useDraft, type Workflow } from './use-draft.ts'
import { VersionsTab } from './versions-tab.tsx'
import { WorkflowActions } from './workflow-actions.tsx'

const TABS = ['definition', 'versions', 'simulate', 'tests'] as const
const TITLES: readonly [string, string][] = [
  ['definition', 'Definition'],
  ['versions', 'Versions'],
  ['simulate', 'Simulate'],
  ['tests', 'Tests'],
]

export default function WorkflowPage({ workflowId }: { workflowId: string }) {
  const parley = useParley()
  const query = useQuery(parley.workflows.get.queryOptions({ workflowId }))
  if (query.data) return <Loaded workflow={query.data} />
  return (
    <Page title="Workflow" aside={<Link href="/workflows">All workflows</Link>}>
      {query.error ? <Problem error={query.error} /> : <Loading height={420} />}
    </Page>
  )
}

/** Keeps texts and dialogues while the tabs are changed. */
function Loaded({ workflow }: { workflow: Workflow }) {
  const tab = useTab(TABS)
  const draft = useDraft(workflow)
  const [dialogue, setDialogue] = useState<Dialogue>(newDialogue)
  const [outcomes, setOutcomes] = useState<Outcomes>()
  const { id, name, description, publishedProblems } = workflow
  return (
    <Page
      title={name}
      aside={<State workflow={workflow} draft={draft} />}
      actions={<WorkflowActions workflow={workflow} draft={draft} />}
    >
      {description && <p className="muted">{description}</p>}
      {publishedProblems.length > 0 && (
        <div className="problem" role="alert">
          <strong>The live version cannot run. Publish the workflow again to repair it</strong>
          {publishedProblems.map((problem) => (
            <span key={problem}>{problem}</span>
          ))}
        </div>
      )}
      <Tabs tabs={TITLES} current={tab} label="Parts of the workflow" />
      {tab === 'definition' && <DefinitionTab draft={draft} />}
      {tab === 'versions' && <VersionsTab workflow={workflow} draft={draft} />}
      {tab === 'simulate' && <SimulateTab workflowId={id} draft={draft} dialogue={dialogue} onChange={setDialogue} />}
      {tab === 'tests' && <TestsTab workflowId={id} isDirty={draft.isDirty} outcomes={outcomes} onRun={setOutcomes} />}
    </Page>
  )
}

/** If the text is saved, if the draft is published, and which version is live. */
function State({ workflow, draft }: { workflow: Workflow; draft: Draft }) {
  const { id, key, status, version, hasUnpublishedChanges } = workflow
  return (
    <div className="row">
      <Status status={status} />
      <ul className="state-line" aria-label="State of the draft">
        <li>{draft.isDirty ? <strong className="warn">Not saved</strong> : 'Draft saved'}</li>
        {hasUnpublishedChanges && <li className="warn">Unpublished changes</li>}
        <li>
          {version === null ? 'Never published' : `${status === 'published' ? 'Live' : 'Last version'} v${version}`}
        </li>
      </ul>
      {key !== null && <Copy text={key} label="key" shown={key} />}
      <Copy text={id} label="workflow ID" />
    </div>
  )
}
