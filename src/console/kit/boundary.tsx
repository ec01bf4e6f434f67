import { Component, type ReactNode } from 'react'
import { Button } from './button.tsx'
import { Empty } from './states.tsx'

/** Shows in place of a page that it failed. The files of a page are gone after an upgrade, so loading again helps. */
export class Boundary extends Component<{ children: ReactNode }, { hasFailed: boolean }> {
  override state = { hasFailed: false }

  static getDerivedStateFromError(): { hasFailed: boolean } {
    return { hasFailed: true }
  }

  override render(): ReactNode {
    if (!this.state.hasFailed) return this.props.children
    return (
      <Empty
        title="This page cannot be shown"
        action={
          <Button kind="primary" onClick={() => location.reload()}>
            Load again
          </Button>
        }
      >
        The server may have been upgraded meanwhile.
      </Empty>
    )
  }
}
