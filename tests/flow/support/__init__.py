"""What the flow tests stand on: scripted peers, a strict client, and the gateway between them."""
