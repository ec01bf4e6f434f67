import { lazy, Suspense } from 'react'
import { Link, Redirect, Route, Router, Switch } from 'wouter'
import { Button } from './kit/button.tsx'
import { Page } from './kit/page.tsx'
import { Loading, Problem } from './kit/states.tsx'
import { Entry } from './session/entry-form.tsx'
import { SessionProvider, useSession } from './session/session.tsx'
import { ForgotPassword, ResetPassword } from './session/forgotten-password.tsx'
import { SignIn, SignUp } from './session/sign-in.tsx'
import { Shell } from './shell/shell.tsx'

const Playground = lazy(() => import('./playground/playground-page.tsx'))
const Runs = lazy(() => import('./runs/runs-page.tsx'))
const Run = lazy(() => import('./runs/run-page.tsx'))
const Compare = lazy(() => import('./runs/compare-page.tsx'))
const Workflows = lazy(() => import('./workflows/workflows-page.tsx'))
const Workflow = lazy(() => import('./workflows/workflow-page.tsx'))
const Broadcasts = lazy(() => import('./broadcasts/broadcasts-page.tsx'))
const Broadcast = lazy(() => import('./broadcasts/broadcast-page.tsx'))
const Contacts = lazy(() => import('./contacts/contacts-page.tsx'))
const Contact = lazy(() => import('./contacts/contact-page.tsx'))

export function App() {
  return (
    <Router base="/console">
      <SessionProvider>
        <Pages />
      </SessionProvider>
    </Router>
  )
}

function Pages() {
  const { identity, problem } = useSession()
  if (identity === undefined) {
    if (!problem) return <Loading height={320} />
    return (
      <Entry title="The console could not start">
        <Problem error={problem} />
        <Button kind="primary" onClick={() => location.reload()}>
          Try again
        </Button>
      </Entry>
    )
  }
  if (identity === null) return <Entries />
  return (
    <Shell>
      <Switch>
        <Route path="/playground" component={Playground} />
        <Route path="/runs" component={Runs} />
        <Route path="/runs/:runId/compare/:otherId">
          {({ runId, otherId }) => <Compare key={`${runId} ${otherId}`} runId={runId} otherId={otherId} />}
        </Route>
        <Route path="/runs/:runId">{({ runId }) => <Run key={runId} runId={runId} />}</Route>
        <Route path="/workflows" component={Workflows} />
        <Route path="/workflows/:workflowId">
          {({ workflowId }) => <Workflow key={workflowId} workflowId={workflowId} />}
        </Route>
        <Route path="/broadcasts" component={Broadcasts} />
        <Route path="/broadcasts/:broadcastId">
          {({ broadcastId }) => <Broadcast key={broadcastId} broadcastId={broadcastId} />}
        </Route>
        <Route path="/contacts" component={Contacts} />
        <Route path="/contacts/:contactId">
          {({ contactId }) => <Contact key={contactId} contactId={contactId} />}
        </Route>
        <Route path="/">
          <Redirect to="/playground" replace />
        </Route>
        <Route>
          <Page title="There is no such page">
            <p>
              Check the address, or <Link href="/playground">go to the playground</Link>.
            </p>
          </Page>
        </Route>
      </Switch>
    </Shell>
  )
}

/** The pages without a session. The sign-in is at any other address, so that a sign-in leads to the page that was asked for. */
function Entries() {
  return (
    <Suspense>
      <Switch>
        <Route path="/sign-up" component={SignUp} />
        <Route path="/forgot-password" component={ForgotPassword} />
        <Route path="/reset-password" component={ResetPassword} />
        <Route component={SignIn} />
      </Switch>
    </Suspense>
  )
}
