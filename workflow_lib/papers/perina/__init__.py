"""Score spaces of generative models of the inputs."""

PUBLIC_NAMES = {
    "HiddenMarkovModel": "hidden_markov.model",
    "ScoreSpace": "score_space",
    "TopicModel": "topic_model",
}
