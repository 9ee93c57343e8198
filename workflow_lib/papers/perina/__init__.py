"""Score spaces of generative models of the inputs."""
