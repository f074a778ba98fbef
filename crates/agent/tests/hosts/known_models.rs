//! The models that a person can choose among.

use ship_project::Project;
use ship_testkit::llm::Models;

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_the_host_refused_as_unknown_is_not_listed_until_it_answers() {
    for format in FORMATS {
        let host = Host::new(format, 100_000);
        let has = |models: &[&str]| {
            let models = Models::Only(models.iter().map(|name| (*name).to_owned()).collect());
            host.server.set_rules(Judge { models, ..Judge::default() });
        };
        let agent_of = |model: &str| {
            host.agent_set(Rules::default(), |settings| settings.model = model.to_owned())
        };
        let folder = tempfile::tempdir().unwrap();
        let settings = r#"{"llm":{"provider":"openai","model":"test-model"}}"#;
        std::fs::write(folder.path().join("ship.json"), settings).unwrap();
        let settings = Project::load(folder.path(), []).unwrap();
        let known = async |model: &str| agent_of(model).known_models(&settings).await;
        let answers = async |model: &str| match host.say(&agent_of(model), "ahoy").await {
            Some(Outcome::Done) => true,
            Some(Outcome::Failed(_)) => false,
            other => panic!("{other:?}"),
        };

        has(&["test-model", "small"]);
        assert!(answers("test-model").await && answers("small").await);
        assert_eq!(known("smal").await, ["test-model", "smal", "small"]);
        assert!(!answers("smal").await);
        assert_eq!(known("smal").await, ["test-model", "small"], "also where it is chosen");

        has(&["smal", "small"]);
        assert!(answers("smal").await && !answers("test-model").await);
        assert_eq!(known("small").await, ["small", "smal"], "also where the settings name it");
    }
}
